package sqlite

import (
	"errors"
	"log/slog"
	"time"
)

// Errors of Open and of the methods. An error of SQLite itself, for example because the disk is
// full, is wrapped with its text and result code.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("sqlite: store is closed")
	// ErrMoved is returned by every write while the file is not at its path: it was moved, removed
	// or replaced. Stop the program, put the file back, and start again.
	ErrMoved = errors.New("sqlite: the file was moved, removed or replaced while it is open")
	// ErrForeign means that the file is not an SQLite database, or belongs to another program.
	ErrForeign = errors.New("sqlite: not a streamwatch file")
	// ErrVersion means that another version of this package wrote the file. Use that version, or
	// move the file away: Open then creates a new one.
	ErrVersion = errors.New("sqlite: file of another version of streamwatch")
	// ErrInUse means that another Store had the file open until the context of Open ended.
	ErrInUse = errors.New("sqlite: file is in use by another process")
	// ErrAdmin is returned by a Store with Options.Admin for calls that only an engine makes.
	ErrAdmin = errors.New("sqlite: store was opened with Options.Admin: an engine needs one without")
	// ErrCorrupt means that the file is damaged: restore a backup. It is returned by Open, or by a
	// call that reads the damaged part.
	ErrCorrupt = errors.New("sqlite: file is damaged")
)

// Options of a Store. Zero, or a negative number, means the default.
type Options struct {
	// Retention is how long an event, its deliveries and their attempts are kept after the last
	// of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// MaxEvents is how many events are kept. Events with open deliveries are counted, but never
	// removed, even above this number. Defaults to 1,000,000.
	MaxEvents int
	// IDRetention is how long ids are remembered to recognise duplicates: those of removed events,
	// removed ledger entries and resolved reservations. It must be longer than the time that polls
	// read back. Defaults to 30 days.
	IDRetention time.Duration
	// MaxEventIDs is how many ids of each of these three kinds are remembered; the oldest are
	// forgotten first. An id takes about 100 bytes on the disk. Defaults to 1,000,000.
	MaxEventIDs int
	// EntryRetention is how long ledger entries are kept. Removing them does not change
	// balances. Defaults to 400 days.
	EntryRetention time.Duration
	// MaxEntries is how many ledger entries are kept for all owners together; the oldest are
	// removed first. Defaults to 1,000,000.
	MaxEntries int
	// Admin opens the file even if another Store has it open. It is for commands that administer a
	// running service, for example to create a key or add credits. Such a Store returns ErrAdmin
	// from Journal.Commit, Outbox.Claim and Replays.Step.
	Admin bool
	// Now returns the current time. It stamps events and deliveries, and decides what has
	// expired. It is called from several goroutines and must not call the store. Defaults to
	// time.Now.
	Now func() time.Time
	// Logger gets a message when Open waits for another Store, when writes begin to fail and
	// when they work again, and when old records cannot be removed. Its handler must not call the
	// store. By default nothing is logged.
	Logger *slog.Logger

	target bool // an unfinished copy is opened, too: see OpenForCopy
}

func (o Options) withDefaults() Options {
	const day = 24 * time.Hour
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Retention, 7 * day}, {&o.IDRetention, 30 * day}, {&o.EntryRetention, 400 * day}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	for _, n := range []*int{&o.MaxEvents, &o.MaxEventIDs, &o.MaxEntries} {
		if *n <= 0 {
			*n = 1_000_000
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
