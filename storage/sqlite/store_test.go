package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

var start = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a time that tests move.
type clock struct{ offset atomic.Int64 }

func (c *clock) Now() time.Time          { return start.Add(time.Duration(c.offset.Load())) }
func (c *clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// open makes a store in a file of its own, whose time stands still at start
// until the clock is moved.
func open(t testing.TB, opts sqlite.Options) (*sqlite.Store, *clock) {
	t.Helper()
	return openAt(t, newFile(t), opts)
}

// emptyStore is the file of a new store that was closed. Most tests begin with it,
// since making the schema takes longer than all the rest of them.
var emptyStore = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "store.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(context.Background()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newFile makes the file of an empty store.
func newFile(t testing.TB) (path string) {
	t.Helper()
	data, err := emptyStore()
	must(t, err)
	path = filepath.Join(t.TempDir(), "store.db")
	must(t, os.WriteFile(path, data, 0o600))
	return path
}

func openAt(t testing.TB, path string, opts sqlite.Options) (*sqlite.Store, *clock) {
	t.Helper()
	c := new(clock)
	opts.Now = c.Now
	s, err := sqlite.Open(t.Context(), path, opts)
	must(t, err)
	t.Cleanup(func() { closed(t, s) })
	return s, c
}

// closed closes a store that the test may have closed already.
func closed(t testing.TB, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil && !errors.Is(err, sqlite.ErrClosed) {
		t.Error(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errAny is wanted where there is no sentinel to compare with.
var errAny = errors.New("any error")

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) && (want != errAny || got == nil) {
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

// handled makes an event that goes to an in-process handler: a delivery without
// an endpoint.
func handled(src deliver.Source, tweetID string, handlers ...string) deliver.Event {
	ev := newEvent(src, tweetID)
	ev.Handlers = handlers
	return ev
}

func bind(t testing.TB, s *sqlite.Store, src deliver.Source, id string) {
	t.Helper()
	must(t, roles.Endpoints(s.Ports().Records).Create(t.Context(), deliver.Endpoint{
		ID: id, Source: src, URL: "https://example.com/" + id, Secret: "s3cr3t-s3cr3t-s3cr3t-s3cr3t",
		Status: deliver.EndpointActive, CreatedAt: start,
	}))
}

func commit(t testing.TB, s *sqlite.Store, batches ...*detect.Batch) {
	t.Helper()
	must(t, s.Ports().Journal.Commit(t.Context(), batches))
}

// commitAt commits the events in one batch, its deliveries due at due.
func commitAt(t testing.TB, s *sqlite.Store, due time.Time, evs ...deliver.Event) *detect.Batch {
	t.Helper()
	b := &detect.Batch{Events: evs, DeliverBy: due}
	commit(t, s, b)
	return b
}

// eventsOf is all events of an owner.
func eventsOf(t testing.TB, s *sqlite.Store, owner string) []deliver.Event {
	t.Helper()
	var all []deliver.Event
	for after := uint64(0); ; {
		evs, err := s.Ports().Log.Events(t.Context(), owner, after, 1000)
		must(t, err)
		if len(evs) == 0 {
			return all
		}
		all = append(all, evs...)
		after = evs[len(evs)-1].Seq
	}
}

func tweets(evs []deliver.Event) string {
	var ids []string
	for _, ev := range evs {
		ids = append(ids, fmt.Sprintf("%d:%s", ev.Seq, ev.TweetID))
	}
	return strings.Join(ids, " ")
}

// furnished makes a store with one of everything, named kept.
func furnished(t *testing.T) *sqlite.Store {
	s, _ := open(t, sqlite.Options{})
	furnish(t, s)
	return s
}

func furnish(t *testing.T, s *sqlite.Store) {
	t.Helper()
	ctx := t.Context()
	must(t, roles.Monitors(s.Ports().Records).Create(ctx, monitor.Monitor{ID: "kept", Owner: "acme", Name: "kept"}))
	must(t, roles.Rules(s.Ports().Records).Create(ctx, rule.Rule{ID: "kept", Owner: "acme", Tag: "kept"}))
	bind(t, s, source("acme", "src"), "kept")
	commitAt(t, s, start, newEvent(source("acme", "src"), "1"))
	must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "top-up", Owner: "acme", Amount: 10}))
	must(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "kept", Owner: "acme", Amount: 4, ExpiresAt: start.Add(time.Hour)}))
}

// dump is all that a store shows.
func dump(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	ctx := t.Context()
	var b strings.Builder
	show := func(v any, err error) { must(t, err); fmt.Fprintf(&b, "%+v\n", v) }
	show(roles.Monitors(s.Ports().Records).List(ctx, monitor.Query{Owner: "acme"}))
	show(roles.Rules(s.Ports().Records).List(ctx, rule.Query{Owner: "acme"}))
	show(roles.Endpoints(s.Ports().Records).List(ctx, "acme", ""))
	show(s.Ports().Journal.Cursors(ctx, "new"))
	show(s.Ports().Log.Events(ctx, "acme", 0, 100))
	page, err := s.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: "acme"})
	must(t, err)
	for _, e := range page.Entries {
		e.Event = nil // an address
		show(e, nil)
	}
	show(s.Ports().Ledger.Balance(ctx, "acme"))
	show(s.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: "acme"}))
	return b.String()
}

func TestPrintingAStoreShowsNoSecret(t *testing.T) {
	s := furnished(t)
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if out := fmt.Sprintf(verb, s); strings.Contains(out, "s3cr3t") {
			t.Errorf("%s shows the secret: %s", verb, out)
		}
	}
}

// Queries of the log that use all connections for them do not hold up other reads.
func TestLongReadsLeaveRoomForOthers(t *testing.T) {
	s := furnished(t)
	leave := make(chan struct{})
	var searches sync.WaitGroup
	defer searches.Wait()
	defer close(leave)
	for range 4 {
		begun := make(chan struct{})
		searches.Go(func() { s.Search(context.Background(), begun, leave) })
		<-begun
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it would wait for ever
	defer cancel()
	_, err := roles.Endpoints(s.Ports().Records).Get(ctx, "acme", "kept") // asked for before each attempt
	must(t, err)
	_, err = s.Ports().Log.Events(ctx, "acme", 0, 1) // by a WebSocket
	must(t, err)
}

// Scan uses no connection while its function runs.
func TestScansLeaveRoomForOthers(t *testing.T) {
	s := furnished(t)
	leave := make(chan struct{})
	var scans sync.WaitGroup
	defer scans.Wait()
	defer close(leave)
	for range 10 {
		begun := make(chan struct{})
		scans.Go(func() {
			roles.Rules(s.Ports().Records).Scan(context.Background(), func(rule.Rule) error { close(begun); <-leave; return nil })
		})
		<-begun
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it would wait for ever
	defer cancel()
	_, err := s.Ports().Log.Deliveries(ctx, deliver.LogQuery{})
	must(t, err)
}

// A read that is cut short does no harm to the next one on its connection.
func TestReadsCutShortHarmNoOthers(t *testing.T) {
	s := furnished(t)
	for i := range 200 {
		must(t, roles.Monitors(s.Ports().Records).Create(t.Context(), monitor.Monitor{ID: fmt.Sprint(i), Owner: "acme", Name: fmt.Sprint(i)}))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				if g%2 == 0 { // ends somewhere
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*10*time.Microsecond)
					roles.Monitors(s.Ports().Records).Scan(ctx, func(monitor.Monitor) error { return nil })
					cancel()
					continue
				}
				n := 0
				if err := roles.Monitors(s.Ports().Records).Scan(context.Background(), func(monitor.Monitor) error { n++; return nil }); err != nil || n != 201 {
					t.Errorf("%d monitors with error %v, want 201", n, err)
				}
			}
		})
	}
	wg.Wait()
}
