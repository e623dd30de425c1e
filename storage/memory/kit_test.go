package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/memory"
)

var acme = source("acme", "m1")

var start = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that stands still until a test advances it.
type clock struct{ offset atomic.Int64 }

func (c *clock) Now() time.Time          { return start.Add(time.Duration(c.offset.Load())) }
func (c *clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// open returns a new store and its clock, which is at start.
func open(t testing.TB, opts memory.Options) (*memory.Store, *clock) {
	t.Helper()
	c := new(clock)
	opts.Now = c.Now
	return memory.New(opts), c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error = %v, want %v", got, want)
	}
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func source(owner, id string) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: owner, Name: "name of " + id}
}

func newEvent(src deliver.Source, tweetID string) deliver.Event {
	return deliver.Event{
		ID: deliver.EventID(src.ID, tweetID), Source: src, TweetID: tweetID,
		AuthorUsername: "NASA", Body: []byte(`{"tweet_id":"` + tweetID + `"}`),
	}
}

func newEvents(src deliver.Source, tweetIDs ...string) []deliver.Event {
	evs := make([]deliver.Event, len(tweetIDs))
	for i, id := range tweetIDs {
		evs[i] = newEvent(src, id)
	}
	return evs
}

// handled returns an event for handlers in the process, whose deliveries need no
// endpoint.
func handled(src deliver.Source, tweetID string, handlers ...string) deliver.Event {
	ev := newEvent(src, tweetID)
	ev.Handlers = handlers
	return ev
}

func bind(t testing.TB, s *memory.Store, src deliver.Source, id string) {
	t.Helper()
	must(t, roles.Endpoints(s.Ports().Records).Create(t.Context(), deliver.Endpoint{
		ID: id, Source: src, URL: "https://example.com/" + id, Secret: "s3cr3t-s3cr3t-s3cr3t-s3cr3t",
		Status: deliver.EndpointActive, CreatedAt: start,
	}))
}

func commit(t testing.TB, s *memory.Store, batches ...*detect.Batch) {
	t.Helper()
	must(t, s.Ports().Journal.Commit(t.Context(), batches))
}

// commitAt commits the events in one batch, its deliveries due at due.
func commitAt(t testing.TB, s *memory.Store, due time.Time, evs ...deliver.Event) *detect.Batch {
	t.Helper()
	b := &detect.Batch{Events: evs, DeliverBy: due}
	commit(t, s, b)
	return b
}

func eventsOf(t testing.TB, s *memory.Store, owner string) []deliver.Event {
	t.Helper()
	evs, err := s.Ports().Log.Events(t.Context(), owner, 0, 1000)
	must(t, err)
	return evs
}

func tweets(evs []deliver.Event) string {
	var ids []string
	for _, ev := range evs {
		ids = append(ids, fmt.Sprintf("%d:%s", ev.Seq, ev.TweetID))
	}
	return strings.Join(ids, " ")
}

func seqs(evs []deliver.Event) string {
	out := ""
	for i, ev := range evs {
		if i > 0 {
			out += " "
		}
		out += fmt.Sprint(ev.Seq)
	}
	return out
}

func wantBalance(t testing.TB, s *memory.Store, owner string, available, reserved billing.Credits) {
	t.Helper()
	b, err := s.Ports().Ledger.Balance(t.Context(), owner)
	must(t, err)
	want(t, "balance of "+owner, b, billing.Balance{Available: available, Reserved: reserved})
}

// entries returns the entries of a page as id=balance.
func entries(t testing.TB, s *memory.Store, q billing.EntryQuery) string {
	t.Helper()
	p, err := s.Ports().Ledger.Entries(t.Context(), q)
	must(t, err)
	var out []string
	for _, e := range p.Entries {
		out = append(out, fmt.Sprintf("%s=%d", e.ID, e.Balance))
	}
	return strings.Join(out, " ")
}
