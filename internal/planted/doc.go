// Package planted tests conformance suites: a case must report a fault planted in the
// implementation that it tests, and nothing for an implementation without faults.
package planted
