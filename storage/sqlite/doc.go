// Package sqlite implements storage.Store in one SQLite file, for services on one
// machine that must not lose anything. It is pure Go.
//
//	store, err := sqlite.Open(ctx, "/var/lib/myservice/streams.db", sqlite.Options{})
//	…
//	defer store.Close(context.Background())
//
// # Writes
//
// A write that returned nil is on the disk. It survives kill -9 and, if the disk keeps the data
// that it reports as synced, a power failure. The file is in write-ahead logging mode with
// synchronous=FULL.
//
// One connection writes. Calls that arrive while a transaction is written join it; those that
// arrive while it is synced share the next one. A transaction has at most 256 calls. Each is in its
// own savepoint, so that its error does not affect the others. No call waits for others to arrive.
//
// The changes of a call are one transaction, however many they are. Deleting an endpoint with
// 100,000 open deliveries delays other writes by one to two seconds.
//
// If a call's context ends before its write has begun, nothing is written, even while another
// program has the file locked. If it ends later, the call waits for the outcome, which takes one
// transaction at most. It returns nil if everything was recorded, otherwise an error that a port
// names, the context's or SQLite's.
//
// # Reads
//
// Reads have their own connections, see everything committed before they began, and wait for no
// writer. Lists, Scan and pages of the delivery log use four connections, all other reads another
// four: short reads do not wait for long ones.
//
// # When the disk fails
//
// When the disk is full or fails, a write returns an error with SQLite's text, and none of it is
// visible. After a failed sync it may still be on the disk. If the process ends before its next
// transaction, the next Open may find the calls of the failed transaction recorded, each complete.
// Later writes are tried again, and acknowledged only when they are synced; the store need not be
// reopened. Options.Logger reports the first failure and the recovery. It also counts as a failure
// if a program locks the file for more than 5 seconds.
//
// # Open
//
// Open creates the file with mode 0600. It refuses a file that is not a store (ErrForeign), is
// damaged (ErrCorrupt), or has the schema of another version (ErrVersion), and writes nothing to it.
// As always when a file is opened, SQLite moves into it what a file next to it that ends in -wal has.
//
// Open does not look for damage in tables. A call that finds some returns ErrCorrupt. Only the log
// has checksums: changed bytes within a text or body are not noticed.
//
// # Other processes
//
// A file belongs to one Store at a time, and so to one engine. A second Open waits until the first
// Store is closed or its process has ended in any way, and writes one line to Options.Logger. Thus
// a service can be restarted while its previous process finishes its work. The lock is on an empty
// file next to the store's, with the suffix -lock. That file stays, and must not be removed while a
// store is open.
//
// A Store with Options.Admin is for commands: it can open a file that another Store has open. Other
// programs may read the file through SQLite. While a store has the file open, its process must not
// open the file by other means, not even to copy it. On POSIX systems, closing such a descriptor
// releases SQLite's locks, and another program may then destroy the most recent writes
// (https://sqlite.org/howtocorrupt.html).
//
// Copy a store in use with Store.Backup, or with BackupFile. cp is safe only while the store is
// closed, because the file ending in -wal has the most recent writes. A copy has its own epoch, and
// other ids for the deliveries that it makes: see deliver.Log and deliver.DeliveryIDInEpoch. While a
// file is not at its path, because it was moved, removed or replaced, writes return ErrMoved.
//
// The file ending in -wal has some 4 MiB, or the size of one transaction. It grows during a long
// read, and is cut to 32 MiB at most by a write after the read.
//
// Endpoint secrets are stored as they were given. Anyone who can read the file or a backup can read
// them.
//
// # Retention
//
// Open deliveries are never removed. An event stays while one of its deliveries is open, and then
// for Options.Retention. It may be removed sooner if there are more than Options.MaxEvents events:
// the events that became final first are removed first. Its id is remembered for
// Options.IDRetention (at most Options.MaxEventIDs ids), to recognise a post that is found again.
// Removing ledger entries does not change balances.
//
// A transaction removes rows that are too old or too many when some hundred rows were added since
// the last removal, or a second has passed: 64 of each kind, plus twice as many as were added. Rows
// past their retention are not shown. The file does not shrink: free pages are used again.
//
// Erase removes the rows of an owner. Bytes of rows deleted by Erase or by retention stay in free
// pages of the file until these are overwritten. VACUUM removes them: run "sqlite3 streams.db
// VACUUM" while no process has the file open.
//
// # The file
//
// You may read the tables with the sqlite3 program, but must not write to them. Its command .schema
// shows them with comments.
//
//   - records: monitors, rules, endpoints and API keys; data has the fields without a column, as JSON
//   - record_sums: the number, size and price of an owner's records, by kind and status
//   - feed: the newest 10,000 changes to records
//   - gone: owners that are refused after they were erased
//   - state: small values, by version
//   - cursors: how far each target has been read
//   - replays: as JSON
//   - events: one row for each event, with its body
//   - deliveries, attempts: by number, deliveries.event is events.n
//   - settled: since when an event has no open delivery
//   - owners: balances
//   - ledger_entries, source_totals, reservations: the ledger
//   - removed_events, removed_entries, resolved_reservations: ids that are remembered
//   - totals: the numbers of events made and removed, the highest event number of any erased
//     owner, the number of expiring values and their bytes, and the epoch
//
// Times are Unix nanoseconds, NULL for none, from 1677 to 2262; amounts are
// thousandths of a credit. The views delivery_log, attempt_log and billing_log show
// them as RFC 3339 in UTC, and as credits:
//
//	sqlite3 -readonly streams.db "SELECT * FROM delivery_log WHERE state = 'failed' AND created > '2026-11-01'"
//	sqlite3 -readonly streams.db "SELECT * FROM attempt_log WHERE delivery = 'dlv_…'"
//	sqlite3 -readonly streams.db "SELECT owner, sum(credits) FROM billing_log GROUP BY owner"
package sqlite
