package sqlite

import (
	"errors"
	"log/slog"
	"time"
)

// Errors of Open and of the methods. An error of SQLite itself, as of a full disk,
// is wrapped with its text and result code.
var (
	// ErrClosed is what every call returns after Close.
	ErrClosed = errors.New("sqlite: store is closed")
	// ErrForeign: the file is no SQLite database, or that of another program.
	ErrForeign = errors.New("sqlite: not a streamwatch file")
	// ErrVersion: another version of this package has written the file. Use that version,
	// or move the file away: Open makes a new one.
	ErrVersion = errors.New("sqlite: file of another version of streamwatch")
	// ErrInUse: another Store had the file until the context of Open ended.
	ErrInUse = errors.New("sqlite: file is in use by another process")
	// ErrAdmin: a Store with Options.Admin has no part in the work of an engine.
	ErrAdmin = errors.New("sqlite: store was opened with Options.Admin: an engine needs one without")
	// ErrCorrupt: the file is damaged; restore a backup. Open returns it, or the
	// call that meets the damage.
	ErrCorrupt = errors.New("sqlite: file is damaged")
)

// Options of a Store. Zero, or a negative number, means the default.
type Options struct {
	// Retention is how long an event, its deliveries and their attempts stay
	// after the last of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// MaxEvents is how many events are retained. Those with open deliveries count,
	// but are never removed: there may be more than MaxEvents of them. Defaults to
	// 1,000,000.
	MaxEvents int
	// IDRetention is how long the ids of removed events and ledger entries and of
	// resolved reservations stay known, to recognise duplicates. It must be longer
	// than polls look back. Defaults to 30 days.
	IDRetention time.Duration
	// MaxEventIDs is how many ids of each of these kinds stay known; the oldest are
	// forgotten first. An id takes about 100 bytes of the disk. Defaults to
	// 1,000,000.
	MaxEventIDs int
	// EntryRetention is how long ledger entries stay. Removing them does not change
	// balances. Defaults to 400 days.
	EntryRetention time.Duration
	// MaxEntries is how many ledger entries of all owners are retained; the oldest
	// are removed first. Defaults to 1,000,000.
	MaxEntries int
	// Admin opens the file beside the Store that has it, for a command that administers it:
	// one that makes a key or adds credits. Such a Store refuses Journal.Commit,
	// Outbox.Claim and Replays.Step with ErrAdmin.
	Admin bool
	// Now is the store's clock: for the times of events and deliveries, and for what
	// has expired. It is called from several goroutines and must not call the store.
	// Defaults to time.Now.
	Now func() time.Time
	// Logger gets a message when Open waits for another Store, when writes begin to fail
	// and when they work again, when old records cannot be removed, and when the log
	// beside the file cannot be emptied. Its handler must not call the store. Defaults to none.
	Logger *slog.Logger
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
