package billing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a ledger, the streams of its customers, and a wall clock that can be
// set; inside a bubble it begins at midnight, UTC.
type shop struct {
	billing.Ledger
	mu      sync.Mutex
	streams []billing.Stream
	changes []string // "pause a", "resume a"
	told    []string // thresholds
	offset  time.Duration
	down    bool // the ledger fails
	topUps  int
}

var errDown = errors.New("ledger is down")

func newShop() *shop {
	s := &shop{}
	s.Ledger = memory.New(memory.Options{Now: s.now, MaxEntries: 4_000_000, MaxEventIDs: 4_000_000}).Ports().Ledger
	return s
}

func (s *shop) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.offset)
}

func (s *shop) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *shop) Append(ctx context.Context, entries ...billing.Entry) error {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return errDown
	}
	return s.Ledger.Append(ctx, entries...)
}

func (s *shop) Each(_ context.Context, fn func(billing.Stream) error) error {
	s.mu.Lock()
	list := slices.Clone(s.streams)
	s.mu.Unlock()
	for _, st := range list {
		if err := fn(st); err != nil {
			return err
		}
	}
	return nil
}

func (s *shop) Pause(_ context.Context, st billing.Stream) error { return s.move("pause ", st, true) }
func (s *shop) Resume(_ context.Context, st billing.Stream) error {
	return s.move("resume ", st, false)
}

func (s *shop) move(what string, st billing.Stream, paused bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.streams {
		if s.streams[i].ID == st.ID {
			s.streams[i].Paused = paused
			s.changes = append(s.changes, what+st.ID)
		}
	}
	return nil
}

// open adds a stream of acme; those opened first are the oldest.
func (s *shop) open(id string, perDay billing.Credits) {
	s.set(func() {
		s.streams = append(s.streams, billing.Stream{Kind: billing.KindMonitor, ID: id, Owner: "acme", Name: "name of " + id,
			Accounts: 3, Price: billing.Price{PerDay: perDay, PerAccountPerDay: perDay / 3, Tier: "1-10"},
			CreatedAt: time.Unix(int64(len(s.streams)), 0)})
	})
}

func (s *shop) topUp(t *testing.T, owner string, amount billing.Credits) {
	t.Helper()
	s.topUps++
	if err := s.Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint("top-up ", s.topUps), Owner: owner, Kind: billing.KindTopUp, Amount: amount}); err != nil {
		t.Fatal(err)
	}
}

// run starts a meter; stop ends it and waits for it.
func (s *shop) run(t *testing.T, marks ...billing.Credits) (stop func()) {
	t.Helper()
	return meter(t, billing.MeterConfig{Ledger: s, Streams: s, Now: s.now, Thresholds: marks,
		OnThreshold: func(th billing.Threshold) {
			s.set(func() { s.told = append(s.told, fmt.Sprintf("%s<=%d", th.Owner, th.Mark)) })
		}})
}

// taker starts the meter of a node that has no streams until it takes them, changed so long ago.
func (s *shop) taker(t *testing.T) (took func(changed time.Duration)) {
	t.Helper()
	other := &shop{Ledger: s.Ledger}
	t.Cleanup(meter(t, billing.MeterConfig{Ledger: s, Streams: other, Now: s.now, Takeover: 12500 * time.Millisecond}))
	return func(changed time.Duration) {
		other.set(func() { other.streams = slices.Clone(s.streams); other.streams[0].ChangedAt = s.now().Add(changed) })
	}
}

func meter(t *testing.T, cfg billing.MeterConfig) (stop func()) {
	t.Helper()
	m, err := billing.NewMeter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// pass lets time go by, and the meter do what it has to.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (s *shop) entries(t *testing.T, id string) []billing.Entry {
	t.Helper()
	p, err := s.Entries(t.Context(), billing.EntryQuery{Owner: "acme", SourceID: id, Asc: true, PageSize: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return p.Entries
}

// minutes shows the minutes for which a stream was charged, since midnight.
func (s *shop) minutes(t *testing.T, id string) string {
	t.Helper()
	var all []string
	for _, e := range s.entries(t, id) {
		all = append(all, e.At.Format("15:04"))
	}
	return strings.Join(all, " ")
}

func (s *shop) balance(t *testing.T) billing.Credits {
	t.Helper()
	b, err := s.Balance(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return b.Available
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// openOf adds streams of an owner, from id 0 to n-1.
func (s *shop) openOf(owner string, n int, paused bool) {
	for i := range n {
		s.open(fmt.Sprint(owner, " ", i), perMinute)
		st := &s.streams[len(s.streams)-1]
		st.Owner, st.Paused = owner, paused
	}
}

// chargedOf shows the minutes for which an owner's stream was charged.
func (s *shop) chargedOf(t *testing.T, owner, id string) string {
	t.Helper()
	p, err := s.Entries(t.Context(), billing.EntryQuery{Owner: owner, SourceID: id, Asc: true, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range p.Entries {
		all = append(all, e.At.Format("15:04"))
	}
	return strings.Join(all, " ")
}
