// Package sqlite implements storage.Store in one SQLite file, for services on one
// machine that must not lose anything. It is pure Go.
//
//	store, err := sqlite.Open(ctx, "/var/lib/myservice/streams.db", sqlite.Options{})
//	…
//	defer store.Close(context.Background())
//
// Each role implements the contract written on its port.
//
// # Writes
//
// A write that returned nil is on the disk: it survives kill -9 and, as far as the
// disk keeps what it reports as synced, a power failure. The file is in write-ahead
// logging mode with synchronous=FULL.
//
// One connection writes. Calls that arrive while a transaction is written share it;
// those that arrive while it is synced share the next one. A transaction has at
// most 256 calls, each in its own savepoint, so that the error of one does not
// affect the others. No call waits for others to arrive.
//
// What one call changes is one transaction, however much that is: deleting an
// endpoint with 100,000 open deliveries holds up other writes for one to two seconds.
//
// A context that ends before its write has begun withdraws it, also while another
// program has the file locked. Afterwards the call waits for the outcome, which
// takes one transaction at most. It returns nil when everything was recorded, and
// otherwise an error that a port names, the context's or SQLite's.
//
// A panic during a call, as of Options.Now, is an error of that call.
//
// # Reads
//
// Reads have connections of their own, see what was committed when they began, and
// wait for no writer. Lists, Scan and pages of the delivery log use four of them, all
// other reads another four, so that long reads cannot hold up short ones.
//
// # When the disk fails
//
// When the disk is full or fails, a write returns an error with SQLite's text, and
// nothing of it is visible. After a failed sync it may be on the disk all the same:
// if the process ends before its next transaction, the next Open may find the
// calls of the failed one recorded, each whole. Later writes are tried again and
// acknowledged only when they are synced, so the store need not be reopened.
// Options.Logger hears of the first failure and of the recovery. A program that
// keeps the file locked for more than 5 seconds is such a failure, too.
//
// # Open
//
// Open makes the file with mode 0600. It refuses, and leaves as it is, a file that
// is not a store (ErrForeign), is damaged (ErrCorrupt), or has the schema of another
// version (ErrVersion).
//
// Of a file that was not closed, Open checks the tables of monitors, rules,
// endpoints, API keys, balances and reservations. Damage elsewhere is ErrCorrupt of
// the call that meets it. Only the log has checksums: changed bytes within a text
// or body are not noticed.
//
// # Other processes
//
// A file is one Store's at a time, and so one engine's. Open of another one waits until
// the first is closed or its process has ended, in whatever way, and Options.Logger hears
// of it once. So a service can be started again while the process before it finishes its
// work. The lock is on an empty file beside the store's that ends in -lock: it stays, and
// must not be removed while a store is open.
//
// A Store with Options.Admin is for commands: it opens the file beside the one that has
// it. Other programs may read the file through SQLite. But while a store has the file
// open, its process must not open it by other means, not even to copy it: on POSIX
// systems, closing such a descriptor releases the locks that SQLite has, and another
// program may then remove what was last written (https://sqlite.org/howtocorrupt.html).
//
// Copy a store in use with Store.Backup, or with BackupFile. cp is safe only while the
// store is closed, since the file ending in -wal has what was last written. A copy has an
// epoch of its own: see deliver.Log. A file that is moved or replaced while it is open is
// not followed: new connections to it are refused.
//
// The file ending in -wal has up to 32 MiB, or what one transaction writes. It
// grows beyond that only while a read lasts long: then writes wait for the read, up
// to 100 ms every 16 MiB, and Options.Logger hears of it.
//
// Endpoint secrets are stored as given: whoever can read the file, or a backup, can
// read them.
//
// # Retention
//
// A delivery that is not final is never removed. An event stays as long as one of
// its deliveries is open, and then for Options.Retention, or less when there are
// more than Options.MaxEvents: those that became final first go first. Its id stays
// known for Options.IDRetention (at most Options.MaxEventIDs of them), so that a
// post found again is still a duplicate. Removing ledger entries does not change
// balances.
//
// Each transaction removes some of what is too old or too much: 64 rows of each
// kind, and twice as many as it adds. What is past its retention and not removed
// yet is not shown. The file does not shrink: free pages are used again.
//
// Erase removes the rows of an owner. Bytes of rows that were deleted, by Erase or by
// retention, stay in free pages of the file until other rows are written there. VACUUM
// removes them: run "sqlite3 streams.db VACUUM" while no process has the file open.
//
// # The file
//
// The tables can be read, but must not be written to, with the sqlite3 program.
// Its command .schema shows them with comments.
//
//   - monitors, rules, endpoints, api_keys, replays: records, as JSON
//   - cursors: how far each target has been read
//   - events: one row for each event, with its body
//   - deliveries, attempts: by number, deliveries.event is events.n
//   - settled: since when an event has no open delivery
//   - owners: balances
//   - ledger_entries, source_totals, reservations: the ledger
//   - removed_events, removed_entries, resolved_reservations: ids that stay known
//   - answers: answers to requests that clients may repeat
//   - totals: how many events were made and removed, the greatest event number of an owner
//     that was erased, how many answers there are and their bytes, and the epoch
//
// Times are Unix nanoseconds, NULL for none, from 1677 to 2262; amounts are
// thousandths of a credit. The views delivery_log, attempt_log and billing_log show
// them as RFC 3339 in UTC, and as credits:
//
//	sqlite3 -readonly streams.db "SELECT * FROM delivery_log WHERE state = 'failed' AND created > '2026-11-01'"
//	sqlite3 -readonly streams.db "SELECT * FROM attempt_log WHERE delivery = 'dlv_…'"
//	sqlite3 -readonly streams.db "SELECT owner, sum(credits) FROM billing_log GROUP BY owner"
package sqlite
