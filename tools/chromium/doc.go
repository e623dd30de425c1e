// Package chromium looks at the pages of package engineui with a browser: see its test.
package chromium
