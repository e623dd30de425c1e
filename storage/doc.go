// Package storage names what a backend has to offer: Store, a set of accessors
// to the ports that the other packages own. This page helps to choose a backend
// and to write one; it has no code.
//
// # Which store
//
//   - storage/memory: for tests, and services that need nothing to survive the
//     process. With it all is gone, so there is nothing to back up. Keeps 7 days
//     of events, at most 100,000.
//   - storage/sqlite: for one engine; one file, pure Go. What was acknowledged
//     survives a power loss (write-ahead log, synchronous=FULL). Keeps 7 days, at
//     most 1,000,000 events. Back it up with Store.Backup while it is used; watch
//     Options.Logger and the views delivery_log, attempt_log and billing_log.
//   - storage/redisstore: for several machines, on a single Redis, Sentinel or
//     Cluster. One Name is one hash tag, hence one shard in one slot; several
//     Names share a cluster. With appendfsync always a power loss takes nothing
//     that was acknowledged, with everysec up to a second or two; a failover may
//     take the last writes. Posts whose detection was lost are found again, since
//     polls look back, and may be delivered again with the same id. Keeps what
//     sqlite does. Backups are the server's; watch its memory, Options.Logger and
//     Store.Stats.
//   - one of your own: the rest of this page. examples/customstore is a whole one,
//     durable in a file of JSON lines, written from this documentation.
//
// The numbers are defaults of Options.
//
// # What a store is
//
// Eight roles, each an interface of two to seven methods in the package of its
// noun, whose text is the contract. What holds for all of them is written at
// Store: read it first, since it decides how records are encoded. Write the
// roles in this order, each of which needs those before it:
//
//  1. Monitors and Rules (monitor.Store, rule.Store): records with a version,
//     replaced by compare-and-set. One table can serve both kinds.
//  2. Endpoints (deliver.EndpointStore): the same, with a URL unique per source.
//  3. Ledger (billing.Ledger): balances; the journal makes charges with it.
//  4. Journal (detect.Journal): the heart, and what throughput depends on. An
//     engine makes one Commit at a time, of up to 1,024 batches.
//  5. Outbox (deliver.Outbox): the deliveries that are not final, by Due. An
//     engine claims up to 512 and settles up to 1,024 at a time, within 5 s, and
//     asks for NextDue often: a large store keeps them in order.
//  6. Log (deliver.Log): what the tests of Journal and Outbox look through.
//  7. Replays (deliver.Replays): what was committed before an endpoint existed, or
//     while it was disabled. A step is a small Commit of deliveries.
//  8. Retention, and Close.
//
// What is given to a store is judged by methods beside the ports, so that all stores
// refuse the same with the same error. Call detect.Batch.Validate for each batch of a
// Commit, deliver.Settlement.Validate for each of Settle, billing.Entry.Validate for
// each entry of Append, billing.Reservation.Validate in Reserve and
// deliver.LogQuery.Validate in Deliveries, before anything is changed, and return what
// they report. A store judges nothing else but the cursors of its own pages.
//
// Two more, apikey.Store and fleet.Answers, are for stores that are to keep a service's API
// keys and the answers to requests that clients may repeat: the store is a Keyed then. Each
// is a table of its own, and shares no transaction with the others.
//
// # One transaction
//
// Endpoints, Journal, Outbox, Log, Replays and Ledger are views of one set of
// data. These calls change several of them at once, or nothing:
//
//   - Journal.Commit: cursors, events, their numbers, deliveries, charges.
//   - Outbox.Settle: every delivery of the call, its attempts, and, with the last
//     of an event's that becomes final, the start of the event's retention.
//   - Outbox.Reopen: every delivery of the call, and that retention's end.
//   - Replays.Step: the deliveries it makes or reopens, the end of their events'
//     retention, the cursor and the counts.
//   - Endpoints.Delete: the endpoint, its replay, and the end of its open deliveries.
//   - Ledger: each call the balance, the entries, the totals of their sources and
//     the reservation.
//   - Monitors.Delete and Rules.Delete: the record and its total in the ledger.
//
// No reader sees a part of one, in whatever order it asks the roles. A single
// mutex or writer is enough, for the engine groups its writes. Decide every
// refusal before the first change, or be able to take changes back. Nothing is
// sent before its Commit has returned nil, so do not return it before the change
// is as safe as the store promises. After a failed sync nobody knows what the disk
// has: refuse further calls until the data has been read again, or acknowledge only
// what has been written and synced once more.
//
// # Panics
//
// A store must not panic. An engine catches panics of Fetchers, Senders, handlers and
// hooks, which have no part in what it promises, and no panic of a store: that ends the
// process, and the next one goes on from what was acknowledged. To go on in the same one
// would be worse, for a store that has panicked may hold a lock that every later call
// waits for, or have in memory half of what it should change at once. A store that runs
// code of others within a call, such as a driver's hook, catches what that panics with,
// rolls back, and returns an error.
//
// # Several engines
//
// A Keyed that several engines may share is a Sharing, too; every other store is for
// one engine at a time and need not read this. Three roles more, in package fleet, and
// a few lines in those above:
//
//   - Members: terms, which parts and grants each has, and when its lease ends. A
//     Beat is one transaction in the order that its text gives. Free parts are handed
//     out under a lock, or by statements that skip what others have locked: a part is
//     of one term or of none.
//   - The fence: Journal.Commit looks up the term of Batch.Fence in its own
//     transaction, and locks it as a reader does, so that commits do not wait for
//     each other while Beat, Join and Leave wait for the commits under way whose
//     fence they end. To look first and commit then is wrong: the term may end in
//     between. The look-up costs the same for one part and for a thousand. ErrFenced
//     and ErrShared leave everything as it was.
//   - Lanes and parts: Commit makes the deliveries to endpoints outside Batch.Lanes
//     due at once, those to handlers never. Claim and NextDue go by the parts of
//     endpoints; keep the part beside the Due, for they are asked often.
//   - Feed: a number for each change of a monitor, rule, endpoint or key, drawn from
//     a counter that the transaction holds locked until it commits. A sequence or
//     auto-increment gives numbers that become visible out of order.
//   - Signals: hints. One that is lost costs a second, one that waits for its
//     receivers costs a commit. A store that carries none does nothing.
//
// The clock of leases has to be one for all engines: the server's. A clock that jumps evicts nobody who beats, if leases that end too late are
// moved as Beat says. After a restart all is there: terms, generations, parts, the
// count of beats, the epoch and the feed. A store that has lost its last writes, as
// after a failover, has lost of all of these together what came after a moment.
//
// # What must always hold
//
//   - An event id is one event: a post found again is no second one.
//   - The numbers of an owner's events are 1, 2, 3 … in the order of the commits.
//     They go on after restarts, refused commits and removals: keep the last
//     number given, do not count events.
//   - An event has one delivery for each receiver it had at its Commit, and one for
//     each endpoint that a replay sent it to: never two to the same.
//   - A delivery that is not final is never removed, and Claim finds it when it is
//     due. One that is final does not change, unless the deletion of its endpoint
//     ended it during an attempt: see Outbox.Settle. Attempts is the length of its
//     log.
//   - Settle adds each Settlement.Wait above 0 of a retried attempt to the
//     delivery's Waited, and 1 to Uncounted; Reopen makes them 0 and Attempts.
//   - A balance is the sum of all entries ever made, and an entry's Balance that of
//     those up to it. What is reserved is a part of both, and what is available is
//     at no moment below zero.
//   - The total of a monitor or rule is the sum of all its entries ever made. It is
//     0 again when the record is deleted.
//   - The cursor of a target is the last one committed, whole, and no part of the
//     poll that it came with is missing.
//
// # Claims
//
// A claim is nothing but a Due in the future. There is no list of claimants: when
// one dies, its deliveries become due by themselves. A store never compares Due
// with its own clock, and Settle does not ask whose the claim is: the number of
// the attempt says whether it is news.
//
// # On a network
//
// A database on another machine answers late, twice, or not at all. What a store
// on one owes its callers:
//
//   - The context until COMMIT: pass it to every statement, so that a caller who
//     has gone frees the connection. Ended before COMMIT was sent, it rolls back,
//     and the call returns ctx.Err() with nothing changed.
//   - The context during COMMIT: once COMMIT was sent nobody can take it back. Either
//     wait for the answer under a context of your own (context.WithoutCancel, with
//     a timeout), or give up and return ctx.Err(). So ctx.Err() says that nothing was
//     done only if the context had ended before the call; of one that ended during
//     it ctx.Err() says nothing, and the change may even become visible after the
//     call has returned. It is whole or absent either way.
//   - A lost answer: the connection broke after COMMIT was sent. Return the error,
//     wrapped, and none that a port names: those say that nothing was changed. To
//     send the transaction again is right only if it finds by its ids what it did
//     the first time and then tells the caller what it would have told: Seq and
//     Deliveries of the new events, ErrDuplicate only of a record that was there
//     before. To return the error is enough, for callers ask again. A driver that
//     repeats commands by itself has to be told not to, or the second of two equal
//     writes refuses the first.
//   - A reconnect: a new connection has none of the session's settings, prepared
//     statements, advisory locks or open transactions. Set up every connection in the
//     pool's hook, and hold no lock longer than the transaction. After a failover the
//     server may have lost its last writes: cache no number, balance or known id in
//     the process, or check with each write that what it was read from is still there.
//   - A serialization failure or deadlock (SQLSTATE 40001, 40P01, a lost WATCH): the
//     server has rolled back, so run the whole transaction again, reads included,
//     within the caller's context: some ten times with growing, random pauses.
//     Callers do not expect these errors, and no port names them. A lock per owner,
//     taken in the order of the owners, makes them rare.
//   - The isolation: numbers, balances, versions and claims are read and then
//     written. With READ COMMITTED that takes SELECT … FOR UPDATE on the row that is
//     decided on; a row that is not there yet cannot be locked, so let a unique key
//     refuse the second insert. Claims may use SKIP LOCKED.
//   - The pool: give it a maximum, and let a caller wait for a connection no longer
//     than its context. Commit must not starve behind questions: the store keeps a
//     connection or two for Commit, Settle and Claim. No call holds two connections,
//     or a full pool waits for itself.
//   - Timeouts: an engine's calls have a context with a deadline, those of your
//     service may not. Give connecting, each statement, and being idle within a
//     transaction a limit of the store's or the server's own, below the 5 s that an
//     engine waits, and TCP keepalives: a server that is gone without a word must
//     not hold a call for ever. Close ends what is under way when its context ends.
//   - The clock: use one, the process's or the server's, for all that the store
//     stamps and expires. The server's is the same for several processes.
//
// Test what stands on the store with storetest.FaultyStore around it, and the store itself
// with a proxy that cuts connections before and after COMMIT.
//
// # What may be removed
//
// An event goes, with its deliveries and attempts, when a time of the store's
// choice has passed since the last of the deliveries became final, or since the
// Commit if there are none; by the store's clock at that call, not by Attempt.At.
// There may be a maximum number, too, beyond which those go first that became
// final first. Remove a little with each write rather than all at once.
//
// Ids outlive what they were for, those of events, entries and resolved
// reservations, or a repetition counts as new. Forget them too, but a week
// after what they were for at the earliest, when no poll or caller repeats them. Old
// entries of the ledger may go, too. Last numbers, balances, totals and cursors stay.
// TestStore asks for removal by time where Kit says after how long; a store that bounds
// by number proves it itself, with numbers small enough for a test.
//
// # Forgetting an owner
//
// A store that can be told to forget an owner is an Eraser, too. Look for the owner's name
// in every table, also where it is a part of a key or of a record, and keep the greatest
// number that any erased owner had: it is one number for the whole store, so that nothing
// tells who was there. With Kit.Files the suite looks through the bytes of the files.
//
// # Traps
//
//   - A deliver.Secret encodes as ***: endpoints go through
//     deliver.EncodeEndpoint and DecodeEndpoint.
//   - A deliver.Delivery holds its Event and an Endpoint: keep the event once, the
//     delivery with the event's id, and the endpoint not at all.
//   - Copy slices on the way in and out: Accounts, FilterTypes, Handlers, Gaps, a
//     log's attempts, and those of an endpoint with its Clone.
//   - A reservation expires without a call: look at ExpiresAt wherever a balance
//     counts, Journal.Commit included. Record the expiry with the first write that
//     uses what it set free, or a clock that steps back takes it away again.
//   - An endpoint's Update keeps its source: whether the URL is taken is asked of
//     the stored source, not of the one in the call.
//
// # Is it right? Is it fast?
//
// storetest.TestStore checks all of this, and its failures are sentences;
// BenchStore measures the calls that count. Good figures, each p99 with the disk or
// server as in service: a commit of one event 10 ms, of 256 events 50 ms, a claim or
// settlement of 64 deliveries 20 ms, NextDue and a balance 1 ms, other questions
// 10 ms, and a mixed call beside seven others 20 ms. A p99 of more than ten times
// the p50 tells of waiting: for a lock, the pool, or a sync. What a post waits for in
// a store is a Commit and a Claim, so twice the commit's p50 is the least that the
// store adds to its latency. A whole test:
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
// Begin with Open alone; cases that need more are skipped. A Sharing is tested for what
// it is, with Shared through two stores at once; let Features.Signals say that signals
// arrive, and Kit.LeaseClock move the clock of leases when that is not Kit.Clock.
//
// Claim Durable when what was acknowledged outlives the process, and run the suite
// twice: with a Reopen that closes the store, and with one that ends it as a crash
// would, throwing away what was not synced. Other goroutines may be calling the old
// store then: their calls have to fail, or be kept. Claim Shared, with Join, when several processes
// may have the data open at once; if not, refuse the second. A store that is gone
// with its process claims neither. A store that writes files of its own runs the
// suite on storetest.PowerFile: a file that loses what was not synced.
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
// Monitors and Rules may even come from another database: then the ledger's totals
// of those that are deleted stay. The other six may be wrapped, but not taken from
// different stores: they share their transactions. The store that embeds one is no
// Sharing, no Keyed and no Eraser, unless it has their methods.
package storage
