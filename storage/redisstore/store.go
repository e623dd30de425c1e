package redisstore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/internal/calls"
	"github.com/streamwatch/streamwatch/storage/internal/serverclock"
)

var (
	_ storage.Store = (*Store)(nil)
)

// Store is a storage.Store on Redis. It is safe for concurrent use.
type Store struct {
	opts    Options
	clock   *serverclock.Clock // of the server; nil with Options.Now
	redis   redis.UniversalClient
	cluster bool
	prefix  string // of all keys; includes the hash tag
	client  string // identifies this store among those that share its data

	deliveryEpoch uint64 // part of the ids of deliveries: see deliver.DeliveryIDInEpoch

	slots chan *slot    // the slots not in use
	reads atomic.Uint64 // counts calls that only read
	added atomic.Int64  // number of events committed since a commit last removed old events
	bound *bindings
	keys  sync.Map // []any by *script
	stats stats

	calls *calls.Gate
}

// Ports returns the store's ports.
func (s *Store) Ports() storage.Ports {
	return storage.Ports{Now: s.opts.Now, Records: recordStore{s}, State: stateStore{s}, Journal: journal{s}, Outbox: outbox{s}, Log: deliveryLog{s},
		Replays: replays{s}, Ledger: ledger{s}, Members: members{s}, Signals: signals{s}, Sweeper: s}
}

// Close waits for the calls in progress and closes the connections. Every later call returns
// ErrClosed, including a second Close. If ctx ends first, the calls in progress return ErrClosed,
// wrapped with ErrUnknown if they may have written, and Close returns ctx.Err(). Close does not
// remove data from the server.
func (s *Store) Close(ctx context.Context) error {
	return s.calls.Close(ctx, func() error {
		if err := s.redis.Close(); err != nil { // also ends the calls that still wait for an answer
			return fmt.Errorf("redisstore: %w", err)
		}
		return nil
	}, func() error { return nil })
}

// maxPage is the maximum size of a page of deliveries or entries. Callers of the ports ask for less.
const maxPage = 10_000

// pageBounds returns the position of a page's first item, counted from 0, and the size of the page.
// Pages count from 1. A zero page means 1, a zero size means 20.
func pageBounds(page, size int) (from, count int) {
	page, size = max(page, 1), max(size, 0)
	if size == 0 {
		size = 20
	}
	size = min(size, maxPage)
	if page-1 > math.MaxInt32/size { // no list has that many
		return math.MaxInt32, 0
	}
	return (page - 1) * size, size
}

// Replies consist of texts and lists of texts; nil stands for a missing value.

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func decimal(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("redisstore: stored number %q is damaged", s)
	}
	return n, nil
}
