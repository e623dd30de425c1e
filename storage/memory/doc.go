// Package memory keeps everything a storage.Store keeps in this process's
// memory: for tests, and for services that need nothing to survive a restart.
//
//	store := memory.New(memory.Options{})
//	defer store.Close(context.Background())
//
// Each role implements the contract written on its port. One mutex guards all
// of them, so that a commit is seen whole or not at all; the calls are short,
// start no goroutine and never block on anything else. A context that has ended
// before a call takes effect gives ctx.Err() and changes nothing.
//
// # What is kept, and how long
//
// Open deliveries, those that are not final, are never dropped, whatever the
// Options say: the outbox is the one thing that must not lose anything. Their
// number has no maximum here; it is bounded by the rate of new posts times the
// time until the dispatcher gives up on a receiver. An event stays as long as
// one of its deliveries is open. Once all are final, the event, its deliveries
// and their attempts go Options.Retention later, or sooner when there are more
// than Options.MaxEvents, those that became final first, by Options.Now, going
// first.
//
// The id of a removed event stays known for Options.MaxEventIDs more, so that a
// post found again is still a duplicate. Balances are exact however many ledger
// entries were removed. Cursors, endpoints, monitors and rules stay until they
// are deleted or replaced, and each owner ever seen keeps its sequence number
// and its balance. What a monitor or rule was charged in all is kept until it is
// deleted.
//
// # What is shared
//
// Records are copied on their way in and out. The exception is what the ports
// declare read-only: an event's Body, and the one *deliver.Event that all
// deliveries of an event point to.
package memory
