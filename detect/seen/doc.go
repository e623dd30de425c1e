// Package seen remembers which posts were shown: exactly, without pointers for
// the garbage collector to follow, in a few bytes an id.
//
// A Window is the memory of one account's timeline. It holds what the last
// complete poll showed, and what the one before it showed besides; because a
// complete poll reads back beyond the overlap, nothing else can come back but
// by a glitch, and its size does not grow with the account's history.
//
//	var w seen.Window
//	poll := w.Poll()             // what follows is one poll
//	poll.Has("1212092628029698048") // false: a new post
//	…
//	w.Renew(poll, newIDs)        // it was complete, and this was new
//
// Numeric ids cost 8 bytes. Others are kept whole in an arena behind their
// hashes, so that two ids with one hash are never taken for each other. Filters
// that guess (bloom, cuckoo, lossy caches) lose or double posts and are no use
// here.
package seen
