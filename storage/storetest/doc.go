// Package storetest is the conformance suite for stores: TestStore tests whether a
// storage.Store keeps the contracts of its ports, BenchStore measures how fast it is, and
// FaultyStore makes a store fail, to test what uses it.
//
// TestStore has almost 700 named subtests, in a group for each port and groups for what
// concerns the store as a whole:
//
//	func TestStore(t *testing.T) {
//		storetest.TestStore(t, storetest.Kit{
//			Open: func(t testing.TB) storage.Store { return mystore.Open(t.TempDir()) },
//		})
//	}
//
// A failure is a sentence that says what the store has to do. More is tested with more
// fields of the Kit: expiry with Clock; with Features.Durable and Reopen, what survives a
// restart; with Features.Shared and Join, several stores on the same data; with
// Features.Signals, that signals of a fleet arrive; with Retention, what is removed and
// what never is. BenchStore measures commits, claims, settlements and queries, so that
// stores can be compared.
//
// FaultyStore makes calls of a store wait, fail, or end the store, before or after they
// took effect, to test what uses it:
//
//	store = storetest.FaultyStore(store, storetest.FaultPlan{
//		Method: "Journal.Commit", Call: 3, Do: storetest.DieAfter,
//	})
//
// The suite waits with timers, and stores take their time from the Kit's Clock, so that
// both can be used in a testing/synctest bubble.
package storetest
