package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Errors of Open, of a closed Store, and of calls without an answer. They may be
// wrapped with an error of Redis or of the network.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("redisstore: store is closed")
	// ErrVersion means that another version of this package wrote the data.
	ErrVersion = errors.New("redisstore: data of another version of streamwatch")
	// ErrForeign means that the store's keys have other data.
	ErrForeign = errors.New("redisstore: not streamwatch data")
	// ErrServer means that the server is too old, or is not Redis.
	ErrServer = errors.New("redisstore: server cannot be used")
	// ErrEviction means that the server may evict keys when its memory is full.
	ErrEviction = errors.New("redisstore: server may evict data")
	// ErrUnknown means that a call was sent and not answered, so that it may have
	// taken effect or not. It is safe to make it again: the ids keep anything from
	// being recorded twice.
	ErrUnknown = errors.New("redisstore: outcome unknown")
)

// Options configure a Store. Zero or a negative number means the default. Stores that
// share data should have the same options: each removes data by its own.
type Options struct {
	// Name distinguishes the stores on one server or cluster. All keys begin with it
	// in braces, so that they are in one hash slot. It must not contain braces.
	// Defaults to "streamwatch".
	Name string
	// Retention is how long an event, its deliveries and their attempts stay
	// after the last of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// MaxEvents is how many events are retained. Those with open deliveries count,
	// but are never removed, so that there may be more. Each Store may leave 63 more,
	// or a thousandth if that is less, for its next commits to remove. Defaults to
	// 1,000,000: see the package's documentation for the memory that they take.
	MaxEvents int
	// IDRetention is how long the ids of removed events and ledger entries and
	// of resolved reservations are remembered to recognise duplicates. It must
	// be longer than a poll looks back. Defaults to 30 days.
	IDRetention time.Duration
	// MaxEventIDs is how many ids of each of these kinds are remembered; beyond
	// it the oldest are forgotten. An id takes about 150 bytes. Defaults to
	// 1,000,000.
	MaxEventIDs int
	// EntryRetention is how long ledger entries stay. Balances do not depend on
	// it. Defaults to 400 days.
	EntryRetention time.Duration
	// MaxEntries is how many ledger entries are retained for all owners together;
	// beyond it the oldest are removed. Defaults to 1,000,000.
	MaxEntries int
	// RetryFor is how long a call is tried again while the server cannot be
	// reached, is loading or is being replaced. The call's context may end it
	// earlier. Defaults to 5 seconds.
	RetryFor time.Duration
	// AllowEviction lets Open accept a server that may evict keys, or does not tell
	// whether it may. Evicted data is lost without an error.
	AllowEviction bool
	// Now stamps events and deliveries and decides what has expired. It may be
	// called from several goroutines. The clocks of stores that share data
	// should agree to a second. Leases of a fleet go by it, too; if it is not set, they
	// go by the server's clock. Defaults to time.Now.
	Now func() time.Time
	// Logger gets a line when the server stops answering and when it answers again,
	// and for queued deliveries that are missing or cannot be read. Defaults to none.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	const day = 24 * time.Hour
	if o.Name == "" {
		o.Name = "streamwatch"
	}
	if strings.ContainsAny(o.Name, "{}") {
		return o, fmt.Errorf("redisstore: Options.Name %q is not allowed: want a name without braces", o.Name)
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Retention, 7 * day}, {&o.IDRetention, 30 * day}, {&o.EntryRetention, 400 * day}, {&o.RetryFor, 5 * time.Second}} {
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
	return o, nil
}
