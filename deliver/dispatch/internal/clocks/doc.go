// Package clocks compares times by the wall clock and by the monotonic clock, which differ
// after the machine was suspended and after the wall clock was set.
package clocks
