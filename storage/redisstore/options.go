package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/transfer"
)

// Errors of Open and of calls. They may be wrapped with an error of Redis or of the network.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("redisstore: store is closed")
	// ErrVersion means that another version of this package wrote the data.
	ErrVersion = errors.New("redisstore: data of another version of streamwatch")
	// ErrForeign means that the store's keys contain data of another program.
	ErrForeign = errors.New("redisstore: not streamwatch data")
	// ErrServer means that the server is too old, or is not Redis.
	ErrServer = errors.New("redisstore: server cannot be used")
	// ErrEviction means that the server may evict keys when its memory is full.
	ErrEviction = errors.New("redisstore: server may evict data")
	// ErrUnknown means that a call was sent and not answered. It may have taken effect or not. It
	// is safe to make the call again, because ids prevent that anything is recorded twice.
	ErrUnknown = errors.New("redisstore: outcome unknown")
)

// Options configure a Store. Zero or a negative number means the default. Stores that share data
// should have the same options, because each store removes old data by its own options.
type Options struct {
	// Name distinguishes the stores on one server or cluster. All keys begin with it in braces,
	// which puts them in one hash slot. It must not contain braces. Defaults to "streamwatch".
	Name string
	// Retention is how long an event, its deliveries and their attempts are kept after the last
	// of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// MaxEvents is how many events are kept. Events with open deliveries are counted, but never
	// removed, even above this number. Each Store may leave up to 63 events too many (or a
	// thousandth of MaxEvents, if that is less), which its next commits remove. Defaults to
	// 1,000,000: see the package's documentation for the memory that they take.
	MaxEvents int
	// IDRetention is how long ids are remembered to recognise duplicates: those of removed events,
	// removed ledger entries and resolved reservations. It must be longer than the time that polls
	// read back. Defaults to 30 days.
	IDRetention time.Duration
	// MaxEventIDs is how many ids of each of these three kinds are remembered; the oldest are
	// forgotten first. An id takes about 150 bytes. Defaults to 1,000,000.
	MaxEventIDs int
	// EntryRetention is how long ledger entries are kept. Removing them does not change
	// balances. Defaults to 400 days.
	EntryRetention time.Duration
	// MaxEntries is how many ledger entries are kept for all owners together; the oldest are
	// removed first. Defaults to 1,000,000.
	MaxEntries int
	// RetryFor is how long a call is tried again while the server cannot be reached, is loading its
	// data or is being replaced, at most 12 hours. The call's context may end it earlier. Defaults to
	// 5 seconds.
	RetryFor time.Duration
	// AllowEviction makes Open accept a server that may evict keys, or does not show its policy.
	// Evicted data is lost without an error.
	AllowEviction bool
	// Now returns the current time. It stamps events and deliveries, and decides what has
	// expired. It may be called from several goroutines. Stores that share data need the same
	// time. Defaults to the server's clock, read by each beat of a fleet.
	Now func() time.Time
	// Logger gets a line when the server stops answering, when it answers again, and for each
	// queued delivery that is missing or cannot be read. By default nothing is logged.
	Logger *slog.Logger

	use transfer.Use // see OpenForCopy
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
	o.RetryFor = min(o.RetryFor, 12*time.Hour) // answers are kept for a day: see lua/write.lua
	for _, n := range []*int{&o.MaxEvents, &o.MaxEventIDs, &o.MaxEntries} {
		if *n <= 0 {
			*n = 1_000_000
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
