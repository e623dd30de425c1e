package memory

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/internal/roster"
)

var (
	_ storage.Store = (*Store)(nil)
)

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("memory: store is closed")

// Options configure a Store. Zero or a negative number means the default.
type Options struct {
	// Retention is how long an event, its deliveries and their attempts are kept after the last
	// of the deliveries became final. Defaults to 7 days.
	Retention time.Duration
	// MaxEvents is how many events are kept. Events with open deliveries are counted, but never
	// removed, even above this number. Defaults to 100,000.
	MaxEvents int
	// MaxEventIDs is how many ids of removed events are remembered to recognise duplicates. The
	// oldest are forgotten first. The same number limits the ids of removed ledger entries, and
	// those of resolved reservations. An id takes about 60 bytes. Defaults to 1,000,000.
	MaxEventIDs int
	// MaxEntries is how many ledger entries are kept for all owners together; the oldest are
	// removed first. Defaults to 100,000.
	MaxEntries int
	// Now returns the current time. It stamps events and deliveries, and decides which leases,
	// reservations and events have expired. It is called with the store locked and must not call
	// the store. Defaults to time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Retention <= 0 {
		o.Retention = 7 * 24 * time.Hour
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = 100_000
	}
	if o.MaxEventIDs <= 0 {
		o.MaxEventIDs = 1_000_000
	}
	if o.MaxEntries <= 0 {
		o.MaxEntries = 100_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store is a storage.Store in memory. It is safe for concurrent use.
type Store struct {
	opts Options

	mu     sync.Mutex // guards the fields below
	closed bool

	records recordTable
	values  values
	replays map[string]*deliver.Replay // by endpoint
	cursors map[string]detect.Cursor   // by target

	events   events
	balances balances

	roster    roster.Roster
	receivers map[receiver]struct{}
}

// New returns an empty store.
func New(opts Options) *Store {
	opts = opts.withDefaults()
	return &Store{
		opts:      opts,
		records:   newRecordTable(),
		values:    values{byName: make(map[record.Name]*value)},
		replays:   make(map[string]*deliver.Replay),
		cursors:   make(map[string]detect.Cursor),
		events:    newEvents(opts),
		balances:  newBalances(opts),
		roster:    roster.New(),
		receivers: make(map[receiver]struct{}),
	}
}

// Ports returns the store's ports.
func (s *Store) Ports() storage.Ports {
	return storage.Ports{Now: s.opts.Now, Records: recordStore{s}, State: state{s}, Journal: journal{s}, Outbox: outbox{s}, Log: deliveryLog{s},
		Replays: replays{s}, Ledger: ledger{s}, Members: members{s}, Signals: signals{s}, Sweeper: s}
}

// Close makes every later call return ErrClosed, including a second Close. It does not wait for
// calls in progress, and it ignores the context.
func (s *Store) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.closed = true
	for r := range s.receivers {
		close(r)
	}
	return nil
}

// lock locks the mutex, or returns an error without locking it. It checks the context after the
// mutex is locked, because the context may end during the wait.
func (s *Store) lock(ctx context.Context) error {
	s.mu.Lock()
	err := ctx.Err()
	if s.closed {
		err = ErrClosed
	}
	if err != nil {
		s.mu.Unlock()
	}
	return err
}

const defaultPageSize = 20

// pageBounds returns the bounds of a page among n items. Pages count from 1. A zero page means
// 1, a zero size means defaultPageSize.
func pageBounds(n, page, size int) (from, to int) {
	page, size = max(page, 1), max(size, 0)
	if size == 0 {
		size = defaultPageSize
	}
	if page-1 > n/size { // the product below might overflow
		return n, n
	}
	from = min((page-1)*size, n)
	return from, from + min(size, n-from)
}
