// Package planted checks that a suite of tests finds the faults planted for it.
package planted
