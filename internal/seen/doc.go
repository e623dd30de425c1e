// Package seen remembers which posts were shown: exactly, without pointers for
// the garbage collector to follow, in a few bytes an id. Filters that guess
// (bloom, cuckoo, lossy caches) lose or double posts and are no use here.
//
// A Window is the memory of one account's timeline. It holds the ids that the last complete
// poll showed, and those that only the one before it showed. A complete poll reads back
// beyond the overlap, so no other post can be shown again, except by a fault of the platform.
// The size of a Window does not grow with the account's history.
//
//	var w seen.Window
//	poll := w.Poll()             // what follows is one poll
//	poll.Has("1212092628029698048") // false: a new post
//	…
//	w.Renew(poll, newIDs)        // it was complete, and this was new
//
// Windows are those of many accounts, close together:
//
//	var all seen.Windows
//	w := all.At(account)
//	…
//	all.Set(account, w)
//
// A Set is for what has no such order: queries, and sources that answer as they
// like. It remembers by age, each id for one to two horizons of time.
//
//	s := seen.NewSet(24 * time.Hour)
//	s.Has("1212092628029698048") // false: a new post
//	…
//	s.Add(now, shown...)         // after the commit: new ones, and those shown again
//
// Numbers are kept as such: up to 8 bytes each in a Window, 10.7 to 13.5 in a
// large Set. Other ids are kept whole behind their hashes, so that two ids with
// one hash are never taken for each other.
package seen
