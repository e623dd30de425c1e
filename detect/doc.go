// Package detect finds new posts: it polls accounts at their intervals, knows
// what it has seen, stamps how late each new post was found, and commits it.
//
// A Detector owns a fixed number of shards, each one goroutine that owns the
// schedule and the state of its share of the accounts. A poll reads pages until
// it reaches posts older than the overlap, because posts become visible late
// and out of order; the seen window decides what is new. What is new goes, in
// one Batch per account, to a group committer, and from there to the
// deliveries. Nothing is sent, and no post counts as seen, before it is
// committed: after a failed commit the next poll finds it again.
//
// Journal is the port a backend implements; Subscription is how monitors say
// what they want to know.
package detect
