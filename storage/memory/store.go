package memory

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

var (
	_ storage.Store   = (*Store)(nil)
	_ storage.Keyed   = (*Store)(nil)
	_ storage.Sharing = (*Store)(nil)
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

	monitors  *table[monitor.Monitor]
	rules     *table[rule.Rule]
	endpoints *table[deliver.Endpoint]
	keys      keyRecords
	replays   map[string]*deliver.Replay             // by endpoint
	bound     map[sourceKey][]*row[deliver.Endpoint] // in order of creation

	cursors map[string]cursor // by target

	events   events
	balances balances

	roster    roster
	feed      feed
	receivers map[*receiver]struct{}
	answers   kept
}

// New returns an empty store.
func New(opts Options) *Store {
	opts = opts.withDefaults()
	return &Store{
		opts:      opts,
		monitors:  newTable(monitorKeys),
		rules:     newTable(ruleKeys),
		endpoints: newTable(endpointKeys),
		keys:      newKeyRecords(),
		replays:   make(map[string]*deliver.Replay),
		bound:     make(map[sourceKey][]*row[deliver.Endpoint]),
		cursors:   make(map[string]cursor),
		events:    newEvents(opts),
		balances:  newBalances(opts),
		roster:    newRoster(),
		receivers: make(map[*receiver]struct{}),
		answers:   newKept(),
	}
}

// Monitors returns the store of monitors.
func (s *Store) Monitors() monitor.Store { return monitors{s.monitorRecords()} }

// Rules returns the store of filter rules.
func (s *Store) Rules() rule.Store { return rules{s.ruleRecords()} }

// Endpoints returns the store of webhook endpoints.
func (s *Store) Endpoints() deliver.EndpointStore { return endpoints{s} }

// Journal returns the journal, which records detections.
func (s *Store) Journal() detect.Journal { return journal{s} }

// Outbox returns the outbox, which holds the open deliveries.
func (s *Store) Outbox() deliver.Outbox { return outbox{s} }

// Replays returns the store of replays. A step looks at up to 1,024 events.
func (s *Store) Replays() deliver.Replays { return replays{s} }

// Log returns the log of deliveries and events. Each call of its Deliveries method scans all of
// the owner's retained deliveries.
func (s *Store) Log() deliver.Log { return deliveryLog{s} }

// Ledger returns the ledger, which keeps the balances. A reservation without ExpiresAt
// does not expire.
func (s *Store) Ledger() billing.Ledger { return ledger{s} }

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
		r.signal()
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

// pageBounds returns the bounds of a page among n items. Pages count from 1. A zero page means
// 1, a zero size means 20.
func pageBounds(n, page, size int) (from, to int) {
	page, size = max(page, 1), max(size, 0)
	if size == 0 {
		size = 20
	}
	if page-1 > n/size { // the product below might overflow
		return n, n
	}
	from = min((page-1)*size, n)
	return from, from + min(size, n-from)
}
