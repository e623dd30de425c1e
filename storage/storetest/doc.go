// Package storetest is the conformance suite for stores: TestStore shows whether a
// storage.Store of any make keeps its contracts, BenchStore how fast it is, and
// FaultyStore tests what stands on a store.
//
// TestStore runs a store of any make through some 400 named subtests, a group for
// each port and for what concerns the store as a whole:
//
//	func TestStore(t *testing.T) {
//		storetest.TestStore(t, storetest.Kit{
//			Open: func(t testing.TB) storage.Store { return mystore.Open(t.TempDir()) },
//		})
//	}
//
// A failure is a sentence that says what the store has to do. With Kit.Clock
// also expiries are tested, with Features.Durable and Reopen what survives a
// restart, with Features.Shared and Join several processes on the same data, with
// Retention what is removed and what never is. BenchStore measures commits,
// claims, settlements and questions, so that stores can be compared.
//
// FaultyStore makes calls of a store fail, hang or die, before or after they took
// effect, to test what stands on it:
//
//	store = storetest.FaultyStore(store, storetest.FaultPlan{
//		Method: "Journal.Commit", Call: 3, Do: storetest.DieAfter,
//	})
//
// Waits are timers and time is a Kit's Clock: inside a testing/synctest bubble
// hours pass in moments.
package storetest
