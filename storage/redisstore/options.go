package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Errors of Open, of a closed Store, and of calls without an answer. What Redis
// or the network says comes wrapped.
var (
	// ErrClosed is what every call returns after Close.
	ErrClosed = errors.New("redisstore: store is closed")
	// ErrNewer: a later version of this package has changed the data's form.
	ErrNewer = errors.New("redisstore: data of a newer version")
	// ErrOlder: the data has a form that is not read any more.
	ErrOlder = errors.New("redisstore: data of an older version")
	// ErrForeign: there is something else under the store's keys.
	ErrForeign = errors.New("redisstore: not streamwatch data")
	// ErrServer: the server is too old, or is not Redis.
	ErrServer = errors.New("redisstore: server cannot be used")
	// ErrEviction: the server may evict keys when its memory is full.
	ErrEviction = errors.New("redisstore: server may evict data")
	// ErrUnknown: the call was sent and no answer came, so that it may have
	// been recorded or not. It is safe to make it again: ids make sure that
	// nothing is there twice.
	ErrUnknown = errors.New("redisstore: outcome unknown")
)

// Options of a Store. Zero, or a negative number, means the default. Stores
// that share data should have the same: each removes by its own.
type Options struct {
	// Name tells the stores of one server or cluster apart. All keys begin with
	// it in braces, so that a store is in one hash slot. It must not have
	// braces. Defaults to "streamwatch".
	Name string
	// Retention is how long an event, its deliveries and their attempts stay
	// after the last of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// MaxEvents is how many event records are retained, those with open
	// deliveries included; these are never removed, so that there are more
	// while more are open. Each Store may leave 63 more, or a thousandth if
	// that is less, for its next commits to remove. Defaults to 1,000,000: see
	// the package for the memory they take.
	MaxEvents int
	// IDRetention is how long the ids of removed events and ledger entries and
	// of resolved reservations are remembered to recognise duplicates. It must
	// be longer than a poll looks back. Defaults to 30 days.
	IDRetention time.Duration
	// MaxEventIDs is how many ids of each of these kinds are remembered; beyond
	// it the oldest are forgotten. An id costs about 150 bytes. Defaults to
	// 1,000,000.
	MaxEventIDs int
	// EntryRetention is how long ledger entries stay. Balances do not depend on
	// it. Defaults to 400 days.
	EntryRetention time.Duration
	// MaxEntries is how many ledger entries are retained over all owners;
	// beyond it the oldest go. Defaults to 1,000,000.
	MaxEntries int
	// RetryFor is how long a call is tried again while the server cannot be
	// reached, is loading or is being replaced. The call's context may end it
	// earlier. Defaults to 5 seconds.
	RetryFor time.Duration
	// AllowEviction opens a server although it may evict keys, or does not say
	// whether it may. What is evicted is lost without a trace.
	AllowEviction bool
	// Now stamps events and deliveries and decides what has expired. It may be
	// called from several goroutines. The clocks of stores that share data
	// should agree to a second. Defaults to time.Now.
	Now func() time.Time
	// Logger hears when the server is gone and when it is back, and of queued
	// deliveries whose records are missing. Defaults to none.
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
