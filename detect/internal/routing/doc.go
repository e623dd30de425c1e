// Package routing decides where a rule gets its posts from: a search of its query, or the
// timelines of its authors where monitors have these polled as often anyway.
//
// After a change of its origin, a rule reads back over the overlap, and the journal drops
// the posts that the rule has got already. A rule's State records two more facts. Read is
// the time up to which the rule has got its posts, because its origin may have failed for
// long. Behind means that the journal has a cursor of its query that no search moves any
// more, because the next process would rely on it. Route alone decides about changes, and
// returns what to do.
package routing
