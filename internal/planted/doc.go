// Package planted tests conformance suites. A case of a suite must report a fault that was
// planted in the tested implementation, and must report nothing for an implementation without
// faults.
package planted
