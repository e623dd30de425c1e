// Package memory implements storage.Store in the memory of this process. It is for tests, and
// for services that need nothing to survive a restart.
//
//	store := memory.New(memory.Options{})
//	defer store.Close(context.Background())
//
// Each role keeps the contract of its port. One mutex guards all of them, so readers see a commit
// whole or not at all. Calls are short, start no goroutines, and wait only for the mutex. If the
// context ends before a call takes effect, the call returns ctx.Err() and changes nothing.
//
// # What is kept, and how long
//
// Open deliveries (those that are not final) are never removed, whatever the Options say, and their
// number is not limited. An event stays while one of its deliveries is open. When all are final,
// the event, its deliveries and their attempts are removed after Options.Retention, or sooner if
// there are more than Options.MaxEvents events. The events that became final first are removed
// first.
//
// The ids of the last Options.MaxEventIDs removed events are remembered: a post found again is
// still a duplicate. Balances are exact, however many ledger entries were removed. Cursors,
// endpoints, monitors and rules stay until they are deleted or replaced. An owner's sequence
// number and balance stay for good. The total charged for a monitor or rule is kept until the
// monitor or rule is deleted.
//
// # Several engines
//
// The engines of one process may share a store, as nodes of a fleet: see storage.Sharing. Leases
// expire by Options.Now. The feed keeps at least the last 10,000 changes. Signals reach every
// receiver. If 1,024 signals already wait for a receiver, one SignalLook replaces all of them.
//
// # What is shared
//
// Records are copied when they are stored and when they are returned. The exceptions are the
// values that the ports declare read-only: an event's Body, and the *deliver.Event that all
// deliveries of an event share.
package memory
