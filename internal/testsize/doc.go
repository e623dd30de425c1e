// Package testsize sets the size of tests. A random test finds more with more runs, but under the
// race detector a test takes ten times as long.
package testsize
