// Package seen remembers the ids of posts that were shown. It is exact, takes a few bytes per id,
// and has few pointers for the garbage collector to follow. Inexact filters (Bloom, cuckoo, lossy
// caches) would lose or duplicate posts.
//
// A Window is for the timeline of one account. It has the ids that the last two complete polls
// showed. A complete poll reads back to the end of the overlap, so no older post is shown again,
// except by a fault of the platform. The size of a Window does not grow with the account's
// history.
//
//	var w seen.Window
//	poll := w.Poll()             // begins one poll
//	poll.Has("1212092628029698048") // false: a new post
//	…
//	w.Renew(poll, newIDs)        // the poll was complete, and newIDs were new
//
// Windows stores the windows of many accounts close together:
//
//	var all seen.Windows
//	w := all.At(account)
//	…
//	all.Set(account, w)
//
// A Set is for queries, and for platforms that return posts in any order. It remembers an id for
// one to two times its horizon, a duration.
//
//	s := seen.NewSet(24 * time.Hour)
//	s.Has("1212092628029698048") // false: a new post
//	…
//	s.Add(now, shown...)         // after the commit: new ids, and ids shown again
//
// Numeric ids are kept as numbers: up to 8 bytes each in a Window, 10.7 to 13.5 in a large Set.
// Other ids are kept as text with their hashes, so two ids with the same hash are never confused.
package seen
