// Package routing decides where a rule's posts come from: a search of its query,
// or the timelines of its authors where monitors have these polled as often
// anyway.
//
// A rule that changes its origin reads back over the overlap, and the journal drops the
// posts that it has got already. A rule's State holds what else is needed: the time up to
// which the rule has got its posts, because its origin may have failed for long, and
// whether the journal has a cursor of its query that no search moves any more, because the
// next process would rely on it. Route alone decides about changes, and returns what to do.
package routing
