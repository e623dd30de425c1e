// Package storage defines Store, the interface of a backend. A Store returns implementations of the
// ports that the other packages own. This page helps to choose a backend and to write one.
//
// # Which store
//
//   - storage/memory: for tests, and for services that need nothing to survive the process.
//     Keeps 7 days of events, at most 100,000.
//   - storage/sqlite: for one engine; one file, pure Go. Acknowledged writes survive a power
//     loss. Keeps 7 days of events, at most 1,000,000. Back it up with Store.Backup.
//   - storage/postgres: for several engines, the first choice; PostgreSQL 15 or later. Acknowledged
//     writes survive a power loss, and a failover to a synchronous standby. Keeps 7 days of events,
//     any number. Back it up with pg_dump.
//   - storage/redisstore: for several engines, where latency counts most; a single Redis or Valkey,
//     Sentinel or Cluster. Keeps as much as sqlite, in memory. A failover may lose the last writes:
//     an overlapping poll finds a lost post again, and it may be delivered again with the same id.
//   - your own: the rest of this page. examples/customstore is a complete one, durable in a
//     file of JSON lines, written from this documentation.
//
// # What to write
//
// Each port is an interface of two to seven methods, in the package of what it stores. Its doc
// comment is the contract, and that of Store has the rules for all ports: read it first, because it
// decides how values are encoded. Write the ports in this order, each needs those before it:
//
//  1. Records (record.Store): monitors, rules, endpoints and API keys, in one table,
//     with a feed of their changes.
//  2. State (record.State): small values with a version, some for a limited time.
//  3. Ledger (billing.Ledger): balances; the journal makes charges with it.
//  4. Journal (detect.Journal): records detections. Throughput depends on it most. An
//     engine makes one Commit at a time, of up to 1,024 batches.
//  5. Outbox (deliver.Outbox): the deliveries that are not final, ordered by Due. An
//     engine claims up to 512 and settles up to 1,024 at a time, within 5 s, and calls
//     NextDue often: a large store needs an index on Due.
//  6. Log (deliver.Log): the tests of Journal and Outbox read their results from it. A large
//     store needs an index of the deliveries of an endpoint, and one of those that are open.
//  7. Replays (deliver.Replays): sends what was committed before an endpoint existed, or
//     while it was disabled. A step is a small Commit of deliveries.
//  8. Retention, Close, and Sweeper if the store can forget an owner.
//  9. Members and Signals (package fleet), for a store that several engines share.
//
// The Validate methods of the ports' types, and record.ValidateTTL, check arguments, so that all
// stores refuse the same. Call them before any change, and return their errors. A store itself
// checks only the cursors of its own pages.
//
// # One transaction
//
// Records, Journal, Outbox, Log, Replays and Ledger share one set of data. Each of these calls
// changes several parts of it, or nothing:
//
//   - Records.Apply: every record of the Change, the children of deleted records, the
//     entries in the feed, the totals of deleted monitors and rules, and the replays and
//     open deliveries of deleted endpoints.
//   - Journal.Commit: cursors, events, their numbers, deliveries, charges.
//   - Outbox.Settle: every delivery of the call, its attempts, and the start of an event's
//     retention when the last of its deliveries becomes final.
//   - Outbox.Reopen: every delivery of the call, and the end of its event's retention.
//   - Replays.Step: the deliveries it makes or reopens, the end of their events'
//     retention, the cursor and the counts.
//   - Ledger: in each call the balance, the entries, the totals of their sources and
//     the reservation.
//
// No reader sees a part of such a change, in whatever order it calls the ports. A single mutex or
// writer is fast enough, because the engine groups its writes. Return nil only once the change is
// as safe as the store promises. After a failed sync the contents of the disk are unknown: refuse
// further calls until the data was read again, or acknowledge only data that was written and synced
// once more. A store must not panic: that ends the process.
//
// # What must always hold
//
//   - The numbers of the feed are 1, 2, 3 … in the order of the commits, and none is
//     visible before a lower one. Take them from a counter that Apply's transaction locks
//     until it commits: those of a sequence or auto-increment become visible out of order.
//   - An event id is one event: a post found again makes no second one.
//   - The numbers of an owner's events are 1, 2, 3 … in the order of the commits.
//     They continue after restarts, refused commits and removals: store the last
//     number given, do not count events.
//   - An event never has two deliveries to the same endpoint.
//   - A delivery that is not final is never removed, and Claim finds it when it is due. A claim
//     is just a Due in the future, which is compared with ClaimRequest.Now alone. In a fleet that is
//     Ports.Now.
//   - A balance is the sum of all entries ever made. It includes reserved credits. The
//     available credits are never below zero. A reservation expires without a call.
//   - The cursor of a target is the last one committed, with everything else in its batch.
//
// # Several engines
//
// A Beat is one transaction; its doc comment lists the steps in order. Journal.Commit looks up the
// term of Batch.Fence in its own transaction. Index the part of an endpoint together with Due.
// All engines need one clock, the server's: for leases, and as Ports.Now for each Due.
// Terms, generations, parts, the count of
// beats, the epoch and the feed survive a restart. A store that loses its last writes, for example
// in a failover, must lose those to all of these from the same moment on.
//
// # On a network
//
//   - A COMMIT that was sent cannot be cancelled. Wait for its answer under another context, or
//     return ctx.Err(): the change may then be made after the call has returned, whole or not
//     at all.
//   - After a lost answer return the error, but none that a port names: those mean that nothing
//     was changed. Callers try again. Turn off a driver's own retries.
//   - After a serialization failure or a deadlock run the whole transaction again, reads
//     included, with growing, random pauses, within the caller's context.
//   - After a reconnect or failover the server may have lost its last writes. Do not cache
//     numbers, balances or known ids in the process.
//   - Numbers, balances, versions and claims are read and then written: lock the row that
//     decides. Let a unique key refuse the second insert of a row that does not exist yet.
//   - Keep connections for Commit, Settle and Claim. No call holds two connections. Limit
//     each statement to less than the 5 s that an engine waits.
//
// # What may be removed
//
// An event is removed, with its deliveries and attempts, when its retention has passed. That begins
// when the last of its deliveries becomes final, or at the Commit if it has none. The ids of
// events, entries and resolved reservations must be kept for at least a week longer, or a
// repetition would count as new. Last numbers, balances, totals and cursors stay. Remove a few rows
// with each write.
//
// # Is it right? Is it fast?
//
// storetest.TestStore checks all of this, and reports failures as sentences. storetest.BenchStore
// measures the calls that matter. Good figures, as p99 with the production disk or server, are: a
// commit of one event 10 ms, of 256 events 50 ms, a claim or settlement of 64 deliveries 20 ms,
// NextDue and a balance 1 ms, other reads 10 ms. A complete test:
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
// Begin with only Open: cases that need more are skipped. A port that is not written yet must not
// be nil; let its methods return an error. With -run 'TestStore/(model|limits|feed)' Records is
// tested alone, with /state also State, with /ledger also Ledger and Journal; the other groups need
// everything up to Log or Replays. The fields of Kit and Features say what they add. Run the suite of a durable store twice: with a Reopen that closes the store, and with
// one that ends it as a crash would.
package storage
