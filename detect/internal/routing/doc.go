// Package routing decides where a rule gets its posts from. This origin is a search for its query,
// or the timelines of its authors if monitors have these polled at least as often anyway.
//
// When its origin changes, a rule reads back over the overlap, and the journal drops the posts that
// the rule already has. Two fields of a rule's State make that safe. Read is the time up to which
// the rule has its posts, because its origin may have failed for long. Behind means that the
// journal has a cursor of the rule's query that no search moves any more, and the next process
// would rely on it. Only Route decides about changes; it returns what to do.
package routing
