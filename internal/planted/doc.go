// Package planted checks conformance suites: that a case reports a fault that was planted in
// what it tests, and reports nothing of an implementation without faults.
package planted
