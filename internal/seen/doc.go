// Package seen remembers which posts were shown. It is exact, takes a few bytes per id, and
// has no pointers for the garbage collector to follow. Filters that guess (bloom, cuckoo,
// lossy caches) would lose or duplicate posts.
//
// A Window is the memory of one account's timeline. It holds the ids that the last complete
// poll showed, and those that only the one before it showed. A complete poll reads back
// beyond the overlap, so no other post can be shown again, except by a fault of the
// platform. The size of a Window does not grow with the account's history.
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
// A Set is for targets without such an order: queries, and sources that answer in any
// order. It remembers by age, each id for one to two horizons of time.
//
//	s := seen.NewSet(24 * time.Hour)
//	s.Has("1212092628029698048") // false: a new post
//	…
//	s.Add(now, shown...)         // after the commit: new ids, and those shown again
//
// Numeric ids are kept as numbers: up to 8 bytes each in a Window, 10.7 to 13.5 in a large
// Set. Other ids are kept as text together with their hashes: two ids with the same hash
// are never confused.
package seen
