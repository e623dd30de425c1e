package remote_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
	"github.com/streamwatch/streamwatch/fetcher/remote"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner     = "acme"
	cursorKey = "a key of the tests alone"
)

// service is the other service: an engine behind its HTTP surface, over a store that
// outlives it.
type service struct {
	t        testing.TB
	platform fetcher.Fetcher
	options  enginehttp.Options
	silent   bool                 // without WebSocket
	sources  []streamwatch.Source // in place of platform, if there are any

	store  *memory.Store
	keys   *apikey.Manager
	key    apikey.Issued
	engine *streamwatch.Engine
	serves atomic.Pointer[http.Handler]
}

// newService makes a service that reads a platform. It is not started.
func newService(t testing.TB, platform fetcher.Fetcher, changes ...func(*service)) *service {
	t.Helper()
	s := &service{t: t, platform: platform, store: memory.New(memory.Options{}),
		options: enginehttp.Options{Providers: enginehttp.Providers{Timeline: platform}, CursorKey: cursorKey, RatePerMinute: 1_000_000}}
	for _, change := range changes {
		change(s)
	}
	var err error
	if s.keys, err = apikey.NewManager(apikey.Config{Records: s.store.Ports().Records}); err != nil {
		t.Fatal(err)
	}
	s.key = s.issue(apikey.IssueRequest{Owner: owner, Name: "chain", Scope: apikey.ScopeRead})
	s.mount()
	return s
}

// mount makes an engine on the store, and its HTTP surface.
func (s *service) mount() {
	s.t.Helper()
	cfg := streamwatch.Config{Fetcher: s.platform, Store: s.store}
	if s.sources != nil {
		cfg.Fetcher, cfg.Sources = nil, s.sources
	}
	if !s.silent {
		cfg.WebSocket = &wshub.Options{Authenticate: enginehttp.WebSocketAuth(s.keys)}
	}
	var err error
	if s.engine, err = streamwatch.New(cfg); err != nil {
		s.t.Fatal(err)
	}
	s.options.Auth = s.keys
	h, err := enginehttp.New(s.engine, s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	var handler http.Handler = h
	s.serves.Store(&handler)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.serves.Load()).ServeHTTP(w, r)
}

func (s *service) start() {
	s.t.Helper()
	if err := s.engine.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) stop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.engine.Shutdown(ctx); err != nil {
		s.t.Errorf("shutdown: %v", err)
	}
}

func (s *service) issue(r apikey.IssueRequest) apikey.Issued {
	s.t.Helper()
	k, err := s.keys.Issue(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return k
}

// watch creates a monitor.
func (s *service) watch(name string, usernames []string, types ...monitor.FilterType) string {
	s.t.Helper()
	m, err := s.engine.Monitors().Create(s.t.Context(), monitor.CreateRequest{Owner: owner, Name: name, Usernames: usernames, FilterTypes: types, PollInterval: 10 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	return m.ID
}

// serve runs a server in memory for the length of a test.
func serve(t testing.TB, h http.Handler) *sockettest.Server {
	srv := sockettest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

const baseURL = "http://streams.example.com"

func newStream(t testing.TB, client *http.Client, key secret.Value) *remote.Stream {
	t.Helper()
	s, err := remote.NewStream(remote.StreamConfig{BaseURL: baseURL, Key: key, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newFetcher(t testing.TB, client *http.Client, key secret.Value) *remote.Fetcher {
	t.Helper()
	f, err := remote.New(remote.Config{BaseURL: baseURL, Key: key, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// listener runs a Stream and keeps what it signals.
type listener struct {
	changes chan []fetcher.Account
	signals chan fetcher.Signal
	ended   chan error
	cancel  context.CancelFunc
}

func listen(t testing.TB, s *remote.Stream, from string, names ...string) *listener {
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{changes: make(chan []fetcher.Account), signals: make(chan fetcher.Signal, 10_000), ended: make(chan error, 1), cancel: cancel}
	q := fetcher.StreamQuery{Accounts: accounts(names...), Changes: l.changes, Position: from}
	go func() { l.ended <- s.Stream(ctx, q, func(g fetcher.Signal) error { l.signals <- g; return nil }) }()
	return l
}

// stop ends the Stream and returns why it ended.
func (l *listener) stop() error {
	l.cancel()
	return <-l.ended
}

// next is the next signal of another kind than SignalHeartbeat. Those that came before the
// Stream ended go before its end.
func (l *listener) next(t testing.TB) fetcher.Signal {
	t.Helper()
	late := time.After(30 * time.Minute)
	for {
		select {
		case <-late:
			t.Fatal("no such signal in half an hour")
		case g := <-l.signals:
			if g.Kind != fetcher.SignalHeartbeat {
				return g
			}
		case err := <-l.ended:
			if len(l.signals) == 0 {
				t.Fatalf("the stream ended: %v", err)
			}
			l.ended <- err
		}
	}
}

func accounts(names ...string) (list []fetcher.Account) {
	for _, n := range names {
		list = append(list, fetcher.Account{Username: n})
	}
	return list
}

// modern lets virtual time pass to a year in which ids tell the time.
func modern() { <-time.After(25 * 365 * 24 * time.Hour) }

// newPlatform has the accounts ann, bob and cyd.
func newPlatform() *enginetest.Platform {
	return enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"ann", "bob", "cyd"}, PageSize: 8})
}

// editing is a platform whose posts are edited: their text changes, their id does not.
type editing struct {
	*enginetest.Platform
	mu    sync.Mutex
	texts map[string]string // by id
}

func (e *editing) edit(id, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts[id] = text
}

func (e *editing) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := e.Platform.Timeline(ctx, q)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range page.Tweets {
		if text, ok := e.texts[page.Tweets[i].ID]; ok {
			page.Tweets[i].Text, page.Tweets[i].FullText = text, text
		}
	}
	return page, err
}
