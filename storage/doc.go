// Package storage defines Store, the interface of a backend: a set of accessors to the ports
// that the other packages own. This page helps to choose a backend and to write one.
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
//     keys of a Name have the same hash tag, hence are on one shard; several Names can share
//     a cluster. A power loss takes no acknowledged write with appendfsync always, and those
//     of the last second or two with everysec; a failover may take the last writes. Polls
//     overlap: posts whose detection was lost are found again, and may be delivered again
//     with the same id. Keeps as much as sqlite. Backups are made on the server. Watch its
//     memory, Options.Logger and Store.Stats.
//   - your own: the rest of this page. examples/customstore is a complete one, durable in a
//     file of JSON lines, written from this documentation.
//
// The numbers are defaults of Options.
//
// # What a store is
//
// A store has eight roles. Each is an interface of two to seven methods, in the package of
// the records it keeps; its doc comment is the contract. The rules common to all are in the
// doc comment of Store: read it first, because it decides how records are encoded. Write the
// roles in this order, because each needs those before it:
//
//  1. Monitors and Rules (monitor.Store, rule.Store): records with a version,
//     replaced by compare-and-set. One table can serve both kinds.
//  2. Endpoints (deliver.EndpointStore): the same, with a URL unique per source.
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
// Arguments are checked by methods of the ports' types, which makes all stores refuse the
// same arguments with the same errors. Before any change, call detect.Batch.Validate for each
// batch of a Commit, deliver.Settlement.Validate for each settlement of Settle,
// billing.Entry.Validate for each entry of Append, billing.Reservation.Validate in Reserve and
// deliver.LogQuery.Validate in Deliveries, and return the errors that they return. A store
// itself checks only the cursors of its own pages.
//
// Two more roles, apikey.Store and fleet.Answers, keep a service's API keys and the answers to
// requests that clients may repeat. A store that has them is a Keyed. Each is a table of its
// own, and shares no transaction with the others.
//
// # One transaction
//
// Endpoints, Journal, Outbox, Log, Replays and Ledger are views of one set of
// data. These calls change several of them at once, or nothing:
//
//   - Journal.Commit: cursors, events, their numbers, deliveries, charges.
//   - Outbox.Settle: every delivery of the call, its attempts, and the start of an event's
//     retention when the last of its deliveries becomes final.
//   - Outbox.Reopen: every delivery of the call, and the end of its event's retention.
//   - Replays.Step: the deliveries it makes or reopens, the end of their events'
//     retention, the cursor and the counts.
//   - Endpoints.Delete: the endpoint, its replay, and the end of its open deliveries.
//   - Ledger: in each call the balance, the entries, the totals of their sources and
//     the reservation.
//   - Monitors.Delete and Rules.Delete: the record and its total in the ledger.
//
// No reader sees a part of such a change, in whatever order it calls the roles. A single
// mutex or writer is fast enough, because the engine groups its writes. Decide every refusal
// before the first change, or be able to undo changes. The engine sends nothing before its
// Commit has returned nil: return nil only once the change is as safe as the store promises.
// After a failed sync the contents of the disk are unknown: refuse further calls until the
// data has been read again, or acknowledge only what has been written and synced once more.
//
// # Panics
//
// A store must not panic. An engine recovers from panics of Fetchers, Senders, handlers and
// hooks, but not from a panic of a store: that ends the process, and the next process
// continues from what was acknowledged. Recovering would be worse: the store may hold a lock
// that every later call waits for, or have half of an atomic change in memory. A store that
// runs other people's code within a call, such as a driver's hook, recovers from its panics,
// rolls back, and returns an error.
//
// # Several engines
//
// A Keyed that several engines may share is a Sharing, too. Every other store is for one
// engine at a time, and its author need not read this section. A Sharing has three more
// roles, in package fleet, and adds a few rules to those above:
//
//   - Members: the terms, with each one's parts, grants and the end of its lease. A Beat is
//     one transaction; its steps have the order given in its doc comment. Hand out free
//     parts under a lock, or with statements that skip locked rows: a part belongs to one
//     term or to none.
//   - The fence: Journal.Commit looks up the term of Batch.Fence in its own transaction,
//     under a shared lock. Commits then do not wait for each other, while Beat, Join and
//     Leave wait for the commits in progress whose fence they end. Looking it up before the
//     transaction is wrong: the term may end in between. The cost of the look-up does not
//     depend on the number of parts. ErrFenced and ErrShared change nothing.
//   - Lanes and parts: Commit makes deliveries to endpoints outside Batch.Lanes due at
//     once, but never those to handlers. Claim and NextDue select by the parts of endpoints
//     and are called often: index the part together with Due.
//   - Feed: a number for each change of a monitor, rule, endpoint or key, drawn from
//     a counter that the transaction holds locked until it commits. A sequence or
//     auto-increment gives numbers that become visible out of order.
//   - Signals: hints. A lost signal costs a second; a Send that waits for its receivers
//     delays a commit. A store without signals does nothing here.
//
// All engines must use one clock for leases: the server's. A jump of the clock does not
// evict a node that beats, provided that Beat shortens leases that end too late, as its doc
// comment says. Terms, generations, parts, the count of beats, the epoch and the feed survive
// a restart. A store that loses its last writes, as in a failover, must lose those of all
// these from the same moment on.
//
// # What must always hold
//
//   - An event id is one event: a post found again makes no second one.
//   - The numbers of an owner's events are 1, 2, 3 … in the order of the commits.
//     They continue after restarts, refused commits and removals: store the last
//     number given, do not count events.
//   - An event has one delivery for each receiver it had at its Commit, and one for
//     each endpoint that a replay sent it to: never two to the same endpoint.
//   - A delivery that is not final is never removed, and Claim finds it when it is
//     due. A final one does not change, with one exception: if it became final because its
//     endpoint was deleted during an attempt, see Outbox.Settle. Attempts is the length of
//     its log.
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
// A claim is just a Due in the future. There is no list of claimants: when one dies, its
// deliveries become due by themselves. A store never compares Due with its own clock, and
// Settle does not check who claimed the delivery: the number of the attempt tells whether
// the settlement is new.
//
// # On a network
//
// A database on another machine may answer late, twice, or not at all. A store that uses one
// follows these rules:
//
//   - The context before COMMIT: pass it to every statement, to free the connection of a
//     caller who has gone. If it ends before COMMIT is sent, roll back and return ctx.Err():
//     nothing has changed.
//   - The context during COMMIT: a COMMIT that was sent cannot be taken back. Either
//     wait for the answer under a context of your own (context.WithoutCancel, with
//     a timeout), or give up and return ctx.Err(). Hence ctx.Err() means that nothing was
//     done only if the context had ended before the call. If it ended during the call, the
//     change may have been made, and may even become visible after the call has returned.
//     Either way it is whole or absent.
//   - A lost answer: the connection broke after COMMIT was sent. Return the error, wrapped,
//     but no error that a port names: those mean that nothing was changed. Repeat the
//     transaction only if it recognises by ids what it did the first time and then gives
//     the caller the same results: Seq and Deliveries of the new events, and ErrDuplicate
//     only for a record that existed before. Returning the error is enough, because callers
//     try again. Turn off a driver's own retries, or the second of two equal writes is
//     refused because of the first.
//   - A reconnect: a new connection has none of the session's settings, prepared
//     statements, advisory locks or open transactions. Set up every connection in the
//     pool's hook, and hold no lock longer than the transaction. After a failover the
//     server may have lost its last writes: do not cache numbers, balances or known ids in
//     the process, or check with each write that the rows they came from still exist.
//   - A serialization failure or deadlock (SQLSTATE 40001, 40P01, a lost WATCH): the
//     server has rolled back. Run the whole transaction again, reads included, about ten
//     times with growing, random pauses, within the caller's context. Callers do not expect
//     these errors, and no port names them. A lock per owner, taken in the order of the
//     owners, makes them rare.
//   - The isolation: numbers, balances, versions and claims are read and then
//     written. With READ COMMITTED that takes SELECT … FOR UPDATE on the row that the
//     decision depends on. A row that does not exist yet cannot be locked: let a unique key
//     refuse the second insert. Claims may use SKIP LOCKED.
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
// Test your service with storetest.FaultyStore around its store, and the store itself with a
// proxy that cuts connections before and after COMMIT.
//
// # What may be removed
//
// An event is removed, with its deliveries and attempts, once its retention has passed since
// the last of the deliveries became final, or since the Commit if it has none. The store
// chooses the retention, and measures it by its own clock at that call, not by Attempt.At.
// It may also limit the number of events: then those that became final first are removed
// first. Remove a few with each write rather than all at once.
//
// The ids of events, entries and resolved reservations must outlive them, or a repetition
// would count as new. They may be removed a week after their records at the earliest: by then
// no poll or caller repeats them. Old ledger entries may be removed, too. Last numbers,
// balances, totals and cursors stay. TestStore checks removal by age if Kit gives the
// retention; a store that limits the number tests that itself, with small numbers.
//
// # Forgetting an owner
//
// A store that can forget an owner is an Eraser, too. Remove the owner's name from every
// table, including keys and records that contain it. Keep the highest sequence number of any
// erased owner, as one number for the whole store that does not reveal who was there. With
// Kit.Dump the suite searches all rows or keys.
//
// # Traps
//
//   - A deliver.Secret encodes as ***: endpoints go through
//     deliver.EncodeEndpoint and DecodeEndpoint.
//   - A deliver.Delivery holds its Event and an Endpoint: store the event once, the
//     delivery with the event's id, and the endpoint not at all.
//   - Copy slices on the way in and out: Accounts, FilterTypes, Handlers, Gaps and a
//     log's attempts; copy an endpoint with its Clone.
//   - A reservation expires without a call: check ExpiresAt wherever a balance is used,
//     including Journal.Commit. Record the expiry with the first write that spends the
//     released credits, or a clock that steps back reserves them again.
//   - An endpoint's Update keeps its source: check that the URL is unique against the
//     stored source, not against the one in the call.
//
// # Is it right? Is it fast?
//
// storetest.TestStore checks all of this, and reports failures as sentences. BenchStore
// measures the calls that matter. Good figures, as p99 with the production disk or server: a
// commit of one event 10 ms, of 256 events 50 ms, a claim or settlement of 64 deliveries
// 20 ms, NextDue and a balance 1 ms, other reads 10 ms, and a mixed call with seven
// others in parallel 20 ms. A p99 above ten times the p50 means that calls wait: for a
// lock, the pool, or a sync. A post waits for a Commit and a Claim: the store adds at least
// twice the commit's p50 to its latency. A complete test:
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
// Begin with Open alone; cases that need more are skipped. A Sharing is also tested with
// Shared, through two stores at once. Set Features.Signals if signals arrive, and
// Kit.LeaseClock to move the clock of leases if that is not Kit.Clock.
//
// Set Durable if acknowledged writes outlive the process, and run the suite twice: with a
// Reopen that closes the store, and with one that ends it as a crash would, discarding what
// was not synced. Other goroutines may be calling the old store at that moment: their calls
// must fail or be kept. Set Shared, with Join, if several processes may have the data
// open at once; otherwise refuse the second. A store that ends with its process sets
// neither. A store that writes its own files runs the suite on storetest.PowerFile: a file
// that loses what was not synced.
//
// # To change one role
//
// Embed a store and override its accessor, embed the role and override a method:
//
//	type audited struct{ storage.Store }
//	func (a audited) Monitors() monitor.Store { return auditedMonitors{a.Store.Monitors()} }
//
//	type auditedMonitors struct{ monitor.Store }
//	func (m auditedMonitors) Delete(ctx context.Context, owner, id string) error {
//		slog.Info("monitor deleted", "owner", owner, "monitor", id)
//		return m.Store.Delete(ctx, owner, id)
//	}
//
// Monitors and Rules may even come from another database; then the ledger keeps the totals of
// deleted ones. The other six may be wrapped, but not taken from different stores, because
// they share transactions. A struct that embeds a Store is no Sharing, Keyed or Eraser unless
// it has their methods, too.
package storage
