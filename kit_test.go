package streamwatch_test

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const owner = "acme"

func newEngine(t *testing.T, cfg streamwatch.Config) *streamwatch.Engine {
	t.Helper()
	e, err := streamwatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func startEngine(t *testing.T, e *streamwatch.Engine) (stop func()) {
	t.Helper()
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}
}

// running makes an engine that runs until the test ends.
func running(t *testing.T, cfg streamwatch.Config) *streamwatch.Engine {
	t.Helper()
	e := newEngine(t, cfg)
	t.Cleanup(startEngine(t, e))
	return e
}

// platformOf is a platform with some accounts.
func platformOf(accounts ...string) *enginetest.Platform {
	return enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: accounts})
}

func create(t *testing.T, e *streamwatch.Engine, r monitor.CreateRequest) monitor.Created {
	t.Helper()
	m, err := e.Monitors().Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func createRule(t *testing.T, e *streamwatch.Engine, q rule.CreateRequest) rule.Created {
	t.Helper()
	r, err := e.Rules().Create(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func near(got, want, part float64) bool { return math.Abs(got-want) <= part*want }

// inbox keeps the events that it gets.
type inbox struct {
	mu  sync.Mutex
	got []deliver.Event
}

// handle is an OnEvent handler.
func (in *inbox) handle(_ context.Context, e deliver.Event) error {
	in.take([]deliver.Event{e})
	return nil
}

func (in *inbox) take(events []deliver.Event) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got = append(in.got, events...)
}

func (in *inbox) events() []deliver.Event {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.got)
}

// texts are those of a source's posts, "" for all sources, in order.
func (in *inbox) texts(source string) (texts []string) {
	for _, e := range in.events() {
		if source == "" || e.Source.ID == source {
			texts = append(texts, e.TextPreview)
		}
	}
	slices.Sort(texts)
	return texts
}

func (in *inbox) wants(t *testing.T, when, source string, want ...string) {
	t.Helper()
	if got := in.texts(source); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", when, got, want)
	}
}

// fetchFunc is a Fetcher made of a function.
type fetchFunc func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error)

func (f fetchFunc) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return f(ctx, q)
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stream is a monitor of an account, or a rule: what both managers do alike.
type stream struct {
	kind   deliver.SourceKind
	create func(ctx context.Context, e *streamwatch.Engine, name, account, url string) (id string, err error)
	do     func(ctx context.Context, e *streamwatch.Engine, id, what string) (shown, error)
	hook   func(ctx context.Context, e *streamwatch.Engine, id string, url *string, key *secret.Value) error
}

// shown is what a stream shows of itself.
type shown struct {
	status, url string
	secretSet   bool
}

var streams = []stream{aMonitor, aRule}

var aMonitor = stream{deliver.SourceMonitor,
	func(ctx context.Context, e *streamwatch.Engine, name, account, url string) (string, error) {
		m, err := e.Monitors().Create(ctx, monitor.CreateRequest{Owner: owner, Name: name, Usernames: []string{account}, PollInterval: 10 * time.Second, WebhookURL: url})
		return m.ID, err
	},
	func(ctx context.Context, e *streamwatch.Engine, id, what string) (shown, error) {
		m, err := change[monitor.Monitor](ctx, e.Monitors(), id, what)
		return shown{strings.TrimSpace(string(m.Status) + " " + m.StatusReason), m.WebhookURL, m.WebhookSecretSet}, err
	},
	func(ctx context.Context, e *streamwatch.Engine, id string, url *string, key *secret.Value) error {
		_, err := e.Monitors().Update(ctx, owner, id, monitor.UpdateRequest{WebhookURL: url, WebhookSecret: key})
		return err
	},
}

// aRule is about the posts of all accounts whose text has the word "moon".
var aRule = stream{deliver.SourceRule,
	func(ctx context.Context, e *streamwatch.Engine, name, _, url string) (string, error) {
		r, err := e.Rules().Create(ctx, rule.CreateRequest{Owner: owner, Tag: name, Query: "moon", Interval: 20 * time.Second, MaxResults: 100, WebhookURL: url})
		return r.ID, err
	},
	func(ctx context.Context, e *streamwatch.Engine, id, what string) (shown, error) {
		r, err := change[rule.Rule](ctx, e.Rules(), id, what)
		return shown{strings.TrimSpace(string(r.Status) + " " + r.StatusReason), r.WebhookURL, r.WebhookSecretSet}, err
	},
	func(ctx context.Context, e *streamwatch.Engine, id string, url *string, key *secret.Value) error {
		_, err := e.Rules().Update(ctx, owner, id, rule.UpdateRequest{WebhookURL: url, WebhookSecret: key})
		return err
	},
}

type manager[R any] interface {
	Get(ctx context.Context, owner, id string) (R, error)
	Pause(ctx context.Context, owner, id string) (R, error)
	Resume(ctx context.Context, owner, id string) (R, error)
	Suspend(ctx context.Context, owner, id, reason string) (R, error)
	Restore(ctx context.Context, owner, id, reason string) (R, error)
	Delete(ctx context.Context, owner, id string) error
}

func change[R any](ctx context.Context, m manager[R], id, what string) (r R, err error) {
	switch what {
	case "pause":
		return m.Pause(ctx, owner, id)
	case "resume":
		return m.Resume(ctx, owner, id)
	case "suspend":
		return m.Suspend(ctx, owner, id, monitor.ReasonCredits)
	case "restore":
		return m.Restore(ctx, owner, id, monitor.ReasonCredits)
	case "delete":
		return r, m.Delete(ctx, owner, id)
	}
	return m.Get(ctx, owner, id)
}

// make creates a stream.
func (s stream) make(t *testing.T, e *streamwatch.Engine, name, account, url string) (id string) {
	t.Helper()
	id, err := s.create(t.Context(), e, name, account, url)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// does makes a change that has to succeed.
func (s stream) does(t *testing.T, e *streamwatch.Engine, id, what string) shown {
	t.Helper()
	is, err := s.do(t.Context(), e, id, what)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return is
}

// eachStream runs a test in a bubble for a monitor and for a rule.
func eachStream(t *testing.T, test func(t *testing.T, of stream)) {
	for _, of := range streams {
		t.Run(string(of.kind), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, of) }) })
	}
}

// tapped is a store whose calls can be held up, or fail.
type tapped struct {
	*memory.Store
	tap atomic.Pointer[func(ctx context.Context, call string) error]
}

func newTapped() *tapped { return &tapped{Store: memory.New(memory.Options{})} }

// on has tap called before each call by its name, and before a Commit returns as "Committed". The
// call fails if tap does. Nil for nothing.
func (s *tapped) on(tap func(ctx context.Context, call string) error) {
	if tap == nil {
		s.tap.Store(nil)
		return
	}
	s.tap.Store(&tap)
}

// failing has the calls of those names fail.
func (s *tapped) failing(err error, calls ...string) {
	s.on(func(_ context.Context, call string) error {
		if slices.Contains(calls, call) {
			return err
		}
		return nil
	})
}

func (s *tapped) at(ctx context.Context, call string) error {
	if tap := s.tap.Load(); tap != nil {
		return (*tap)(ctx, call)
	}
	return nil
}

func (s *tapped) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Journal, p.Outbox, p.State = tappedJournal{p.Journal, s}, tappedOutbox{p.Outbox, s}, tappedState{p.State, s}
	p.Members, p.Replays, p.Sweeper = tappedMembers{p.Members, s}, tappedReplays{p.Replays, s}, tappedSweeper{p.Sweeper, s}
	return p
}

type (
	tappedJournal struct {
		detect.Journal
		s *tapped
	}
	tappedOutbox struct {
		deliver.Outbox
		s *tapped
	}
	tappedState struct {
		record.State
		s *tapped
	}
	tappedMembers struct {
		fleet.Members
		s *tapped
	}
	tappedReplays struct {
		deliver.Replays
		s *tapped
	}
	tappedSweeper struct {
		storage.Sweeper
		s *tapped
	}
)

func (j tappedJournal) Commit(ctx context.Context, bs []*detect.Batch) error {
	if err := j.s.at(ctx, "Commit"); err != nil {
		return err
	}
	if err := j.Journal.Commit(ctx, bs); err != nil {
		return err
	}
	return j.s.at(ctx, "Committed")
}

func (j tappedJournal) Cursors(ctx context.Context, ts ...string) ([]detect.Cursor, error) {
	if err := j.s.at(ctx, "Cursors"); err != nil {
		return nil, err
	}
	return j.Journal.Cursors(ctx, ts...)
}

func (o tappedOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if err := o.s.at(ctx, "Claim"); err != nil {
		return nil, err
	}
	return o.Outbox.Claim(ctx, r)
}

func (o tappedOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if err := o.s.at(ctx, "Settle"); err != nil {
		return err
	}
	return o.Outbox.Settle(ctx, ss...)
}

func (o tappedState) Get(ctx context.Context, n record.Name) (record.Value, error) {
	if err := o.s.at(ctx, "Get"); err != nil {
		return record.Value{}, err
	}
	return o.State.Get(ctx, n)
}

func (o tappedState) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
	if err := o.s.at(ctx, "Swap"); err != nil {
		return 0, err
	}
	return o.State.Swap(ctx, n, version, value, ttl)
}

func (m tappedMembers) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	if err := m.s.at(ctx, "Join"); err != nil {
		return fleet.State{}, err
	}
	return m.Members.Join(ctx, n)
}

func (m tappedMembers) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	if err := m.s.at(ctx, "Beat"); err != nil {
		return fleet.State{}, err
	}
	return m.Members.Beat(ctx, b)
}

func (m tappedMembers) Leave(ctx context.Context, f fleet.Fence) error {
	if err := m.s.at(ctx, "Leave"); err != nil {
		return err
	}
	return m.Members.Leave(ctx, f)
}

func (r tappedReplays) Start(ctx context.Context, replay deliver.Replay) error {
	if err := r.s.at(ctx, "StartReplay"); err != nil {
		return err
	}
	return r.Replays.Start(ctx, replay)
}

func (w tappedSweeper) Sweep(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if err := w.s.at(ctx, "Sweep"); err != nil {
		return storage.Erased{}, err
	}
	return w.Sweeper.Sweep(ctx, owner, targets...)
}
