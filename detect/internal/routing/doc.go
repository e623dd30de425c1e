// Package routing decides where a rule's posts come from: a search of its query,
// or the timelines of its authors where monitors have these polled as often
// anyway.
//
// A rule that changes over reads back over the overlap, and the journal drops
// what it has got already. Two things have to be known beyond that: until when
// it has got its posts, because what it came from may have failed for long, and
// whether the journal has a cursor of its query that no search moves on, because
// the next process would take its word. They are the rule's State. Route is the
// one function that changes over; it does nothing but say what to do.
package routing
