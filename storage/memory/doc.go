// Package memory has a storage.Store in this process's memory: for tests, and for
// services in which nothing needs to survive a restart.
//
//	store := memory.New(memory.Options{})
//	defer store.Close(context.Background())
//
// Each role keeps the contract of its port. One mutex guards all of them, so that a
// commit is seen whole or not at all. Calls are short, start no goroutines, and block
// on nothing but the mutex. If the context ends before a call takes effect, the call
// returns ctx.Err() and changes nothing.
//
// # What is kept, and how long
//
// Open deliveries, those that are not final, are never removed, whatever the Options
// say. Their number is not bounded here: it depends on how many posts there are in
// the time until the dispatcher gives up on a receiver. An event stays while one of
// its deliveries is open. Once all are final, the event, its deliveries and their
// attempts are removed after Options.Retention, or sooner if there are more than
// Options.MaxEvents events: those first whose deliveries became final first. A call
// removes some 1,000 at most beyond what it adds, so that no other waits for long; what
// is past its retention is not shown, removed or not.
//
// The ids of the last Options.MaxEventIDs removed events stay known, so that a post
// found again is still a duplicate. Balances are exact, however many ledger entries
// were removed. Cursors, endpoints, monitors and rules stay until they are deleted or
// replaced. Sequence numbers and balances of owners stay for good. What a monitor or
// rule was charged in all is kept until it is deleted.
//
// # Several engines
//
// The engines of one process may share a store, as nodes of a fleet: see storage.Sharing.
// Leases go by Options.Now. The feed keeps the last 10,000 changes or more. Signals reach
// every receiver, unless 1,024 wait for it already: then it gets a SignalLook in their
// place.
//
// # What is shared
//
// Records are copied when they are stored and when they are returned. The exceptions
// are what the ports declare read-only: an event's Body, and the *deliver.Event that
// all deliveries of an event share.
package memory
