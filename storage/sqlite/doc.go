// Package sqlite keeps everything a storage.Store keeps in one SQLite file: for
// services on one machine that must not lose anything. It is pure Go.
//
//	store, err := sqlite.Open(ctx, "/var/lib/myservice/streams.db", sqlite.Options{})
//	…
//	defer store.Close(context.Background())
//
// Each role implements the contract written on its port.
//
// # What a caller may rely on
//
// A write that returned nil is on the disk: it survives a kill -9 and, as far as
// the disk keeps what it says is synced, a power failure. The file is in
// write-ahead logging mode with synchronous=FULL. One connection writes. Calls
// that arrive before a transaction is synced share it, and those that arrive
// meanwhile the next one, up to 256 of them: nobody waits for company, and each
// gets its own error, since each runs in its own savepoint. Reads go beside that on connections of their own, see
// what was committed when they began, and wait for no writer.
//
// A context that ends before a write has begun withdraws it, also while another
// program has the file locked. Once it has begun the outcome is waited for, at
// most one transaction long. Nil means that everything was recorded, an error
// that a port names, or the context's, that nothing was.
//
// When the disk is full or fails, the calls concerned return an error with what
// SQLite says, and nothing of theirs can be seen. After a sync that failed it may
// be on the disk all the same: if the process ends before its next transaction,
// which is written over it, the next Open may find the calls recorded, each
// whole. Later calls try again, and each is acknowledged only when what it needs
// was synced since: no reopening is needed once the cause is gone.
// Options.Logger hears of the first failure and of the recovery. Another program
// that locks the file for more than 5 seconds is such a failure, too.
//
// A panic in a call, as of Options.Now, is an error of that call.
//
// Open makes the file with mode 0600. It refuses a file that is not its own, is
// damaged or was written by a newer version, and does not touch it. Of one that was
// not closed, monitors, rules, endpoints and balances are checked first; damage in
// the rest, or in a file that was closed, is ErrCorrupt of the call that meets it.
// Damage within a text or a body that leaves the file's structure whole nobody
// notices: there are no checksums but in the log. An older schema is brought up to
// date; a process that has the file open then cannot write any more (ErrNewer).
//
// # The file and other programs
//
// Several stores, of one process or of several on one machine, may have the file
// open. Other programs may read it through SQLite, as below. But while a store has
// it open, its process must not open it by other means, not even to copy it: on
// POSIX systems, closing such a descriptor takes away the locks that SQLite has,
// and another program may then remove what was last written
// (https://sqlite.org/howtocorrupt.html). Opening it twice by Open is safe, also
// through links. Use Backup to copy a store in use; cp is safe only while it is
// closed, since what was last written is in the file ending in -wal beside it. A
// file that is moved or replaced while it is open is not followed: new connections
// are refused.
//
// The file ending in -wal has up to 32 MiB, or what one transaction writes, and
// more only while a read goes on for long: writes then wait for it 100 ms at most
// every 16 MiB, and Options.Logger hears of it. Questions about the log, lists and
// Scan have connections of their own, four, and cannot hold up other reads.
//
// What one call changes is one transaction, however much that is: deleting an
// endpoint with 100,000 open deliveries holds up other writes for some tenths of
// a second. So does, for every 50,000 lanes, a Claim that leaves out endpoints
// which have more than about a thousand deliveries waiting before all others.
//
// Endpoint secrets are stored as given: whoever can read the file, or a backup,
// can read them.
//
// # What is kept, and how long
//
// Open deliveries, those that are not final, are never dropped. An event stays
// as long as one of its deliveries is open, and Options.Retention longer, or
// less when there are more than Options.MaxEvents, those that became final first
// going first. Its id stays known after that (Options.MaxEventIDs and
// IDRetention), so that a post found again is still a duplicate. Balances are
// exact however many ledger entries were removed.
//
// Every transaction removes a few rows of what is too old or too much, at least
// 64 of each kind and twice as many as it adds, so that removing holds up no
// one. Events that became final at the same moment go in the order of their
// commits. What is past its retention is not shown meanwhile. The file does not
// shrink: freed pages are used again.
//
// # For people
//
// Three views have the logs in readable form, with times as RFC 3339 in UTC:
// delivery_log, attempt_log and billing_log. In delivery_log endpoint_deleted is 1
// for a delivery that the deletion of its endpoint ended.
//
//	sqlite3 -readonly streams.db "SELECT * FROM delivery_log WHERE state = 'failed' AND created > '2026-11-01'"
//	sqlite3 -readonly streams.db "SELECT * FROM attempt_log WHERE delivery = 'dlv_…'"
//	sqlite3 -readonly streams.db "SELECT owner, sum(credits) FROM billing_log GROUP BY owner"
//
// Two more show what lies together in the file one by one: event_log, with bodies,
// and newest_cursors. The tables behind them are monitors, rules, endpoints, owners
// (balance, and last sequence number as far as the events retained do not tell it),
// packs, events, cursors, deliveries, attempts, ledger_entries, source_totals (what
// each monitor and rule was charged, as long as it is not deleted) and reservations.
//
// A row of packs has what a commit found: events as JSON with their bodies, some 32
// KB of them, and the cursors that moved. So a commit writes few pages however
// many accounts it is about, and one of a single event writes one. A pack goes with
// the last of its events. The rest is written later: what events are searched by, in
// events, the ids of all events, those that are removed included, in event_ids, and
// those without deliveries in settled, when there are 32 of them; the cursors in the
// table of that name some thousands at a time. settled, thinned, totals and those
// beginning with removed_ or resolved_ serve the retention.
// Times in tables are integers: Unix nanoseconds, NULL for none; amounts are
// thousandths of a credit. Look at them, do not write to them.
// What is read has its times in UTC; they reach from 1677 to 2262.
package sqlite
