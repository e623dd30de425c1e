// Package check compares what receivers got with what a platform published: a
// post that is missing, doubled or unexpected is named.
//
//	report := check.Check(platform.Posted(), watches, receiver.Deliveries())
//	if err := report.Err(); err != nil { … }
package check
