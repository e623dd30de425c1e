// Package storage defines Store, the interface of a backend. A Store returns implementations of the
// ports that the other packages own. This page helps to choose a backend and to write one.
//
// # Which store
//
//   - storage/memory: for tests, and for services that need nothing to survive the process.
//     There is nothing to back up. Keeps 7 days of events, at most 100,000.
//   - storage/sqlite: for one engine; one file, pure Go. Acknowledged writes survive a power
//     loss (write-ahead log, synchronous=FULL). Keeps 7 days of events, at most 1,000,000.
//     Back it up with Store.Backup while it is in use. Watch Options.Logger and the views
//     delivery_log, attempt_log and billing_log.
//   - storage/redisstore: for several machines, on a single Redis, Sentinel or Cluster. All
//     keys of a Name are on one shard, because they have the same hash tag; several Names
//     can share a cluster. A power loss loses no acknowledged write with appendfsync always,
//     and those of the last second or two with everysec. A failover may lose the last
//     writes. If a detection was lost, an overlapping poll finds the post again, and it may
//     be delivered again with the same id. Keeps as much as sqlite. Make backups on the
//     server. Watch its memory, Options.Logger and Store.Stats.
//   - your own: the rest of this page. examples/customstore is a complete one, durable in a
//     file of JSON lines, written from this documentation.
//
// The numbers are defaults of Options.
//
// # What a store is
//
// A store has seven roles. Each is an interface of two to seven methods, in the package of the
// records that it stores. Its doc comment is the contract. The doc comment of Store has the rules
// for all roles: read it first, because it decides how records are encoded. Write the roles in this
// order, because each needs those before it:
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
//  6. Log (deliver.Log): the tests of Journal and Outbox read their results from it.
//  7. Replays (deliver.Replays): sends what was committed before an endpoint existed, or
//     while it was disabled. A step is a small Commit of deliveries.
//  8. Retention, and Close.
//
// Methods of the ports' types check arguments, so that all stores refuse the same arguments with
// the same errors. Before any change, call record.Change.Validate in Apply, detect.Batch.Validate
// for each batch of a Commit, deliver.Settlement.Validate for each settlement of Settle,
// billing.Entry.Validate for each entry of Append, billing.Reservation.Validate in Reserve and
// deliver.LogQuery.Validate in Deliveries, and return their errors. A store itself checks only the
// cursors of its own pages.
//
// A store that also has the role fleet.Answers is a Keyed. Answers keeps the answers to requests
// that clients may repeat. It needs one table, and shares no transaction with other roles.
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
// No reader sees a part of such a change, in whatever order it calls the roles. A single mutex or
// writer is fast enough, because the engine groups its writes. Make every check that can refuse a
// call before the first change, or be able to undo changes. The engine sends nothing before its
// Commit has returned nil. Return nil only once the change is as safe as the store promises. After
// a failed sync the contents of the disk are unknown: refuse further calls until the data was read
// again, or acknowledge only data that was written and synced once more.
//
// # Panics
//
// A store must not panic. An engine recovers from panics of Fetchers, Senders, handlers and hooks,
// but not from a panic of a store. That ends the process, and the next process continues from the
// acknowledged state. Recovering would be worse: the store may have locked a mutex that every later
// call needs, or have half of an atomic change in memory. If a store runs other people's code
// within a call, for example a driver's hook, it must recover from panics of that code, roll back,
// and return an error.
//
// # Several engines
//
// A Keyed that several engines may share is a Sharing, too. Every other store is for one engine at
// a time, and its author need not read this section. A Sharing has two more roles, in package
// fleet, and adds a few rules:
//
//   - Members: the terms of nodes. Each has parts, grants and a lease. A Beat is one
//     transaction; its doc comment lists the steps in order. Hand out free parts under a
//     lock, or with statements that skip locked rows: a part belongs to one term or to none.
//   - The fence: Journal.Commit looks up the term of Batch.Fence in its own transaction,
//     under a shared lock. Then commits do not wait for each other, but Beat, Join and
//     Leave wait for the commits in progress whose fence they end. Do not look it up before
//     the transaction: the term may end in between. The cost of the look-up must not
//     depend on the number of parts. ErrFenced and ErrShared change nothing.
//   - Lanes and parts: Commit makes deliveries to endpoints outside Batch.Lanes due
//     immediately, except those to handlers. Claim and NextDue select by the parts of
//     endpoints and are called often: index the part together with Due.
//   - Signals: hints. A lost signal costs a second; a Send that waits for its receivers
//     delays a commit. A store without signals does nothing here.
//
// All engines must use the same clock for leases: the server's. If that clock jumps, no node that
// beats is evicted, provided that Beat shortens leases that end too late, as its doc comment says.
// Terms, generations, parts, the count of beats, the epoch and the feed survive a restart. A store
// may lose its last writes, for example in a failover. It must then lose the writes to all of these
// from the same moment on.
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
//   - An event has one delivery for each receiver at its Commit, and one for each
//     endpoint that a replay sent it to. It never has two to the same endpoint.
//   - A delivery that is not final is never removed, and Claim finds it when it is
//     due. A final delivery does not change, unless it became final because its endpoint
//     was deleted during an attempt: see Outbox.Settle. Attempts is the length of its log.
//   - For a retried attempt with a Settlement.Wait above 0, Settle adds the Wait to the
//     delivery's Waited, and 1 to Uncounted. Reopen sets Waited to 0 and Uncounted to
//     Attempts.
//   - A balance is the sum of all entries ever made; an entry's Balance is the sum up to and
//     including that entry. Both include reserved credits. The available credits are
//     never below zero.
//   - The total of a monitor or rule is the sum of all its entries ever made. Deleting the
//     record resets it to 0.
//   - The cursor of a target is the last one committed, complete, and everything else in
//     the same batch was committed with it.
//
// # Claims
//
// A claim is just a Due in the future. There is no list of claimants. When a claimant dies, its
// deliveries become due by themselves. A store never compares Due with its own clock. Settle does
// not check who claimed the delivery: the number of the attempt shows whether the settlement is
// new.
//
// # On a network
//
// A database on another machine may answer late, twice, or not at all. A store on such a database
// follows these rules:
//
//   - The context before COMMIT: pass it to every statement, to free the connection when
//     the caller gives up. If it ends before COMMIT is sent, roll back and return ctx.Err():
//     nothing has changed.
//   - The context during COMMIT: a COMMIT that was sent cannot be cancelled. Either wait
//     for the answer under another context (context.WithoutCancel, with a timeout), or give
//     up and return ctx.Err(). If the context ended before the call, nothing was done. If it
//     ended during the call, the change may have been made, and may become visible only
//     after the call has returned. It is whole or absent.
//   - A lost answer: the connection broke after COMMIT was sent. Return the error, wrapped,
//     but no error that a port names: those mean that nothing was changed. That is enough,
//     because callers try again. Repeat the transaction only if it recognises its earlier
//     work by ids, and gives the caller the same results: Seq and Deliveries of the new
//     events, and ErrDuplicate only for a record that existed before. Turn off a driver's
//     own retries: the second of two equal writes would be refused because of the first.
//   - A reconnect: a new connection has none of the old one's settings, prepared
//     statements, advisory locks or open transactions. Set up every connection in the
//     pool's hook, and keep no lock longer than the transaction. After a failover the
//     server may have lost its last writes. Do not cache numbers, balances or known ids in
//     the process, or check with each write that the rows they came from still exist.
//   - A serialization failure or deadlock (SQLSTATE 40001, 40P01, a lost WATCH): the
//     server has rolled back. Run the whole transaction again, reads included, about ten
//     times with growing, random pauses, within the caller's context. Callers do not expect
//     these errors, and no port names them. A lock per owner, taken in the order of the
//     owners, makes them rare.
//   - The isolation: numbers, balances, versions and claims are read and then written.
//     With READ COMMITTED, read the row that decides with SELECT … FOR UPDATE. A row that
//     does not exist yet cannot be locked: let a unique key refuse the second insert.
//     Claims may use SKIP LOCKED.
//   - The pool: give it a maximum, and let a caller wait for a connection no longer
//     than its context. Reads must not starve Commit: reserve a connection or two for
//     Commit, Settle and Claim. No call holds two connections, because a full pool would
//     then wait for itself.
//   - Timeouts: an engine's calls have a context with a deadline, those of your service may
//     not. Limit connecting, each statement, and being idle within a transaction to less
//     than the 5 s that an engine waits, in the store or on the server, and use TCP
//     keepalives: a server that disappears must not block a call for ever. Close ends the
//     calls in progress when its context ends.
//   - The clock: use one, the process's or the server's, for everything that the store
//     stamps and expires. The server's is the same for several processes.
//
// Test your service with storetest.FaultyStore around its store. Test the store itself with a proxy
// that cuts connections before and after COMMIT.
//
// # What may be removed
//
// An event is removed, with its deliveries and attempts, when its retention has passed. The
// retention begins when the last of its deliveries becomes final, or at the Commit if it has none.
// The store chooses its length, and measures it by its own clock at that call, not by Attempt.At. A
// store may also limit the number of events; it then removes those first that became final first.
// Remove a few with each write rather than all in one call.
//
// The ids of events, entries and resolved reservations must be kept longer than the records, or a
// repetition would count as new. Keep them for at least a week after the record: after that no poll
// or caller repeats them. Old ledger entries may be removed, too. Last numbers, balances, totals
// and cursors stay. TestStore checks removal by age if Kit gives the retention. A store that limits
// the number must test that itself, with small numbers.
//
// # Forgetting an owner
//
// A store that can forget an owner is an Eraser, too. Remove the owner's name from every table,
// including keys and records that contain it. Keep the highest sequence number of all erased
// owners: one number for the whole store, which does not reveal who was there. Every store refuses
// an owner by record.Gone, and keeps record.OwnerID of it, not the name. With Kit.Dump the suite
// searches all rows or keys.
//
// # Traps
//
//   - A deliver.Delivery holds its Event and an Endpoint: store the event once, the
//     delivery with the event's id, and the endpoint not at all.
//   - Copy slices on the way in and out: the Data of records and values, Handlers, Gaps
//     and a log's attempts.
//   - A reservation expires without a call: check ExpiresAt wherever a balance is used,
//     including Journal.Commit. Record the expiry with the first write that spends the
//     released credits. Otherwise, if the clock is set back, they are reserved again.
//   - Put keeps the Parent of a record: check that the Name is unique for the stored
//     Parent, not for the one in the call.
//
// # Is it right? Is it fast?
//
// storetest.TestStore checks all of this, and reports failures as sentences. BenchStore measures
// the calls that matter. Good figures, as p99 with the production disk or server, are: a commit of
// one event 10 ms, of 256 events 50 ms, a claim or settlement of 64 deliveries 20 ms, NextDue and a
// balance 1 ms, other reads 10 ms, and a mixed call with seven others in parallel 20 ms. If the p99
// is above ten times the p50, calls wait for a lock, the pool, or a sync. A post waits for a Commit
// and a Claim: the store adds at least twice the commit's p50 to its latency. A complete test:
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
// Begin with only Open: cases that need more are skipped. A Sharing is also tested with
// Features.Shared, through two stores at the same time. Set Features.Signals if signals arrive. Set
// Kit.LeaseClock to move the clock of leases if that is not Kit.Clock.
//
// Set Durable if acknowledged writes survive the process, and run the suite twice: with a Reopen
// that closes the store, and with one that ends it as a crash would, discarding data that was not
// synced. Other goroutines may be calling the old store at that moment. Each of their calls must
// fail, or its effect be kept. Set Shared, with Join, if several processes may have the data open
// at the same time; otherwise refuse the second. A store whose data ends with its process sets
// neither. A store that writes its own files runs the suite on storetest.PowerFile, a file that
// loses data that was not synced.
//
// # To change one role
//
// Embed a store and override the method that returns the role. Embed the role and override one of
// its methods:
//
//	type audited struct{ storage.Store }
//	func (a audited) Records() record.Store { return auditedRecords{a.Store.Records()} }
//
//	type auditedRecords struct{ record.Store }
//	func (r auditedRecords) Apply(ctx context.Context, c record.Change) (uint64, error) {
//		slog.Info("records changed", "put", len(c.Put), "deleted", len(c.Delete))
//		return r.Store.Apply(ctx, c)
//	}
//
// Roles may be wrapped, but must come from the same store, because they share transactions. A
// struct that embeds a Store is no Sharing, Keyed or Eraser unless it has their methods, too.
package storage
