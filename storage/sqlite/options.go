package sqlite

import (
	"errors"
	"log/slog"
	"time"
)

// Errors of Open and of a closed Store. What SQLite itself reports, such as a
// full disk, comes wrapped with its text and result code.
var (
	// ErrClosed is what every call returns after Close.
	ErrClosed = errors.New("sqlite: store is closed")
	// ErrForeign: the file is no SQLite database, or another program's.
	ErrForeign = errors.New("sqlite: not a streamwatch file")
	// ErrNewer: a later version of this package has changed the schema. Also of
	// writes to a file that was open when that happened.
	ErrNewer = errors.New("sqlite: file of a newer version")
	// ErrOlder: a version from before the first release has written the file, and
	// this package cannot read it. Move the file away: Open makes a new one.
	ErrOlder = errors.New("sqlite: file of a version before the first release")
	// ErrCorrupt: the file is damaged; restore a backup. Of Open, or of the call
	// that meets the damage.
	ErrCorrupt = errors.New("sqlite: file is damaged")
)

// Options of a Store. Zero, or a negative number, means the default.
type Options struct {
	// Retention is how long an event, its deliveries and their attempts stay
	// after the last of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// MaxEvents is how many event records are retained, those with open
	// deliveries included; these are never removed, so that there are more
	// while more are open. Defaults to 1,000,000.
	MaxEvents int
	// IDRetention is how long the ids of removed events and ledger entries and
	// of resolved reservations are remembered to recognise duplicates. It must
	// be longer than a poll looks back. Defaults to 30 days.
	IDRetention time.Duration
	// MaxEventIDs is how many ids of each of these kinds are remembered; beyond
	// it the oldest are forgotten. An id costs about 100 bytes on disk. Defaults
	// to 1,000,000.
	MaxEventIDs int
	// EntryRetention is how long ledger entries stay. Balances do not depend on
	// it. Defaults to 400 days.
	EntryRetention time.Duration
	// MaxEntries is how many ledger entries are retained over all owners;
	// beyond it the oldest go. Defaults to 1,000,000.
	MaxEntries int
	// Now stamps events and deliveries and decides what has expired. It may be
	// called from several goroutines, that of the writer included, and must not
	// call the store. Defaults to time.Now.
	Now func() time.Time
	// Logger hears when writing begins to fail and when it works again, and when
	// the log beside the file cannot be emptied. It is called from the writer's
	// goroutine and must not call the store. Defaults to none.
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
