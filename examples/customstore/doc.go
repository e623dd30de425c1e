// Customstore is a complete storage.Store, written from the documentation of package storage and its
// ports, and a program that runs the engine on it:
//
//	go run ./examples/customstore
//
// Copy it to begin a store of your own. It passes every case of storetest.TestStore that a store for
// one process can pass: see store_test.go.
//
// # How it works
//
// All data is in memory, in one struct of tables (state.go, table.go). A call changes a draft: an
// empty layer of tables above the real ones. The draft is encoded as JSON, appended to the file as
// one line with length and checksum, and synced. Then the line is decoded into the real tables, as
// Open does. So the memory has exactly the data that a restart will find, and shares no memory with
// callers. If a call fails, its draft is dropped. So every call makes all of its changes or none.
//
//	table.go      a map that keeps its order, and drafts of it
//	state.go      all tables, and the types of their rows
//	file.go       lines, replay, appending, rewriting
//	disk_*.go     the lock, and a directory's sync
//	store.go      Open, Close, and the two ways to run a call
//	records.go, values.go, journal.go, outbox.go, log.go, replays.go, ledger.go: a port each
//	retention.go  removal of old events
//
// # What it promises
//
// Acknowledged changes are on the disk. A crash leaves at most an incomplete last line. It was not
// acknowledged, and the next Open removes it. Open returns ErrDamaged for a damaged line before
// others, and ErrLocked for a file that another store has open. After a failure of the disk, every
// call fails until the store is opened again, since the state of the file is unknown.
//
// Open rewrites the file with the current data. The store also rewrites it when it has grown to twice
// that size and 16 MiB. A copy of the file, at any time, is a backup: an incomplete last line in it
// is the same as after a crash.
//
// # Limits
//
// All data must fit into memory. A write needs a sync, so the disk bounds the writes per second.
// Claims, logs and balances read their whole table, which is fast enough for about ten thousand
// rows. Ledger entries and reservations are never removed.
package main
