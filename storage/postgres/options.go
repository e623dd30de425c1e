package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/internal/transfer"
)

// Errors of Open and of calls. They may be wrapped with an error of PostgreSQL or of the network.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("postgres: store is closed")
	// ErrVersion means that another version of this package made the tables.
	ErrVersion = errors.New("postgres: tables of another version of streamwatch")
	// ErrForeign means that the schema has tables of another program.
	ErrForeign = errors.New("postgres: schema of another program")
	// ErrServer means that the server is too old.
	ErrServer = errors.New("postgres: server cannot be used")
	// ErrCorrupt means that rows are missing that belong to others.
	ErrCorrupt = errors.New("postgres: rows are missing")
)

// Durability says when a write that was acknowledged is safe.
type Durability string

// Durabilities: values of synchronous_commit.
const (
	// Synced: on the server's disk, and on that of its synchronous standbys, if it has some.
	Synced Durability = "on"
	// Local: on the server's disk. A failover may lose the last writes.
	Local Durability = "local"
	// Unsynced: soon, usually within 0.6 s. A crash of the server loses the last writes; what
	// remains is consistent. A lost detection is found again with the same id, because polls
	// overlap, and may be delivered again; sequence numbers are assigned again.
	Unsynced Durability = "off"
)

// Options configure a Store. Zero or a negative number means the default. Stores that share data
// should have the same options, because each store removes old data by its own options.
type Options struct {
	// Schema is the schema of the tables. Open makes it if it is missing. It must have nothing
	// else. Defaults to "streamwatch".
	Schema string
	// Retention is how long an event, its deliveries and their attempts are kept after the last
	// of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// IDRetention is how long ids are remembered to recognise duplicates: those of removed events,
	// removed ledger entries and resolved reservations. It must be longer than the time that polls
	// read back. Defaults to 30 days.
	IDRetention time.Duration
	// EntryRetention is how long ledger entries are kept. Removing them does not change
	// balances. Defaults to 400 days.
	EntryRetention time.Duration
	// Durability defaults to Synced.
	Durability Durability
	// Connections is the maximum number of connections, at least 4. A fleet's node has one or two
	// more, to receive signals. Defaults to 16.
	Connections int
	// Now returns the current time. It stamps events and deliveries, and decides what has
	// expired. It may be called from several goroutines. Stores that share data need the same
	// time. Defaults to the server's clock, read by each beat of a fleet.
	Now func() time.Time
	// Logger gets a line when Open makes tables or finds a pooler that carries no notifications,
	// and when old rows cannot be removed. By default nothing is logged.
	Logger *slog.Logger

	use transfer.Use // see OpenForCopy
}

func (o Options) withDefaults() (Options, error) {
	const day = 24 * time.Hour
	if o.Schema == "" {
		o.Schema = "streamwatch"
	}
	if len(o.Schema) > 63 {
		return o, fmt.Errorf("postgres: Options.Schema %.64q… is not allowed: want at most 63 bytes", o.Schema)
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Retention, 7 * day}, {&o.IDRetention, 30 * day}, {&o.EntryRetention, 400 * day}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	switch o.Durability {
	case "":
		o.Durability = Synced
	case Synced, Local, Unsynced:
	default:
		return o, fmt.Errorf("postgres: Options.Durability %q is not allowed: want %q, %q or %q", o.Durability, Synced, Local, Unsynced)
	}
	if o.Connections <= 0 {
		o.Connections = 16
	}
	if o.Connections < 4 {
		return o, fmt.Errorf("postgres: Options.Connections %d is not allowed: want at least 4", o.Connections)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
