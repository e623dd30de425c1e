// Package storetest is the conformance suite for stores. TestStore tests whether a storage.Store
// keeps the contracts of its ports. BenchStore measures how fast it is. FaultyStore makes a store
// fail, to test the code that uses it.
//
// TestStore has more than 600 named subtests, in a group for each port and some groups for the store
// as a whole:
//
//	func TestStore(t *testing.T) {
//		clock := storetest.NewClock()
//		storetest.TestStore(t, storetest.Kit{
//			Open:      func(t testing.TB) storage.Store { return open(t.TempDir(), clock.Now) },
//			Reopen:    func(t testing.TB, s storage.Store) storage.Store { … },
//			Features:  storetest.Features{Durable: true},
//			Clock:     clock,
//			Retention: time.Hour, // what open sets; IDRetention, EntryRetention if it has them
//		})
//	}
//
// A failure is a sentence that says what the store must do. Begin with only Open: tests that need
// more are skipped. Clock adds expiry; Features.Durable and Reopen add restarts; Features.Shared and
// Join add several stores on the same data; Features.Signals adds the signals of a fleet; Retention
// adds removal. Run the suite of a durable store twice: with a Reopen that closes the store, and with
// one that ends it as a crash would.
//
// A port that is not written yet must not be nil; let its methods return an error. With
// -run 'TestStore/(model|limits|feed)' Records is tested alone, with /state also State, with /ledger
// also Ledger and Journal; the other groups need everything up to Log or Replays.
//
// BenchStore measures commits, claims, settlements and queries, to compare stores.
//
// FaultyStore makes calls of a store wait or fail, or makes the store die, before or after the call
// takes effect:
//
//	store = storetest.FaultyStore(store, storetest.FaultPlan{
//		Method: "Journal.Commit", Call: 3, Do: storetest.DieAfter,
//	})
//
// Both can be used in a testing/synctest bubble: the suite waits with timers, and stores get the
// time from the Kit's Clock.
package storetest
