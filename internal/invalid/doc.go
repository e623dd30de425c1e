// Package invalid has the error by which packages refuse a value, so that
// enginehttp answers all of them in one way.
package invalid
