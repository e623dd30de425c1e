// Customstore is a whole storage.Store of one's own, written from the
// documentation of package storage and its ports, and a program that runs the
// engine on it:
//
//	go run ./examples/customstore
//
// Copy it to begin a store; it passes every case of storetest.TestStore that a
// store of one process can, see store_test.go.
//
// # How it works
//
// Everything is in memory, in one struct of tables (state.go, table.go). A call
// that changes something does so in a draft, an empty layer of tables above the
// real ones. What the draft holds becomes one line of the file: encoded as JSON,
// appended with length and checksum, synced. Then the line is read back into the
// real tables, just as opening the file does: so what is in memory is what a
// restart will find, and it shares no memory with what callers gave. A draft that
// is refused is forgotten, which makes every call all or nothing.
//
//	table.go      a map that knows its order, and drafts of it
//	state.go      all tables, and what their rows are
//	file.go       lines, replay, appending, rewriting
//	disk_*.go     the lock, and a directory's sync
//	store.go      Open, Close, and the two ways to run a call
//	records.go    monitors and rules
//	endpoints.go, journal.go, outbox.go, log.go, replays.go, ledger.go: a role each
//	retention.go  what is removed
//
// # What it promises
//
// What a call acknowledged is on the disk. A crash leaves at most a torn last
// line, which nobody was told of, and which the next Open cuts off. A damaged line
// before others is refused with ErrDamaged, as is a file that another store has
// open, with ErrLocked. When the disk fails, every later call fails too, until the
// store is opened again: nobody knows what such a disk has.
//
// Opening rewrites the file to what is current, and so does growing to twice that
// size and 16 MiB more. A backup is a copy of the file at any time: a line cut in
// the middle is as after a crash.
//
// # What it is too small for
//
// All has to fit into memory; a sync per call bounds writes to what the disk syncs
// a second; and claims, logs and balances look through their whole table, which is
// fine for some ten thousand rows. Ledger entries and reservations are never
// removed.
package main
