package xapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// fake is a fake of X's API on a network in memory.
type fake struct {
	*xapitest.Server
	net *sockettest.Server

	mu     sync.Mutex
	calls  []string // methods and paths
	answer func(r *http.Request) (status int, body string)
}

// newFake must be called in a bubble, whose time begins before X did.
func newFake(t testing.TB, cfg xapitest.Config) *fake {
	<-time.After(26 * 365 * 24 * time.Hour)
	f := &fake{Server: xapitest.New(cfg)}
	f.net = sockettest.NewServer(f)
	t.Cleanup(f.net.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	answer := f.answer
	f.mu.Unlock()
	if answer != nil {
		if status, body := answer(r); status != 0 {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return
		}
	}
	f.Server.ServeHTTP(w, r)
}

// answers has some requests answered otherwise: those for which the status is not 0.
func (f *fake) answers(answer func(r *http.Request) (status int, body string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// count is how many requests there were, by method and path.
func (f *fake) count(call string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

// add adds accounts.
func (f *fake) add(names ...string) (accounts []fetcher.Account) {
	for _, name := range names {
		accounts = append(accounts, fetcher.Account{Username: name, UserID: f.AddAccount(name)})
	}
	return accounts
}

func (f *fake) activity(t testing.TB, cfg xapi.ActivityConfig) *xapi.Activity {
	cfg.BaseURL, cfg.Token, cfg.HTTP = "http://api.example.com", "token", f.net.Client()
	a, err := xapi.NewActivity(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (f *fake) filtered(t testing.TB, cfg xapi.FilteredStreamConfig) *xapi.FilteredStream {
	cfg.BaseURL, cfg.Token, cfg.HTTP = "http://api.example.com", "token", f.net.Client()
	s, err := xapi.NewFilteredStream(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listener is a Stream call under way.
type listener struct {
	t       *testing.T
	signals chan fetcher.Signal
	ended   chan error
	cancel  context.CancelFunc
}

func listen(t *testing.T, s fetcher.Streamer, q fetcher.StreamQuery) *listener {
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{t: t, signals: make(chan fetcher.Signal, 10_000), ended: make(chan error, 1), cancel: cancel}
	go func() { l.ended <- s.Stream(ctx, q, func(g fetcher.Signal) error { l.signals <- g; return nil }) }()
	return l
}

// next gives the next signal that is no heartbeat, for which it waits a minute. Those that
// came before the call ended go before its end.
func (l *listener) next() fetcher.Signal {
	l.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case g := <-l.signals:
			if g.Kind != fetcher.SignalHeartbeat {
				return g
			}
		case <-late:
			l.t.Fatal("no signal within a minute")
		case err := <-l.ended:
			if len(l.signals) == 0 {
				l.t.Fatalf("the stream ended with %v", err)
			}
			l.ended <- err
		}
	}
}

// over waits for the call's end, for an hour, and gives its error.
func (l *listener) over() error {
	l.t.Helper()
	select {
	case err := <-l.ended:
		return err
	case <-time.After(time.Hour):
		l.cancel()
		l.t.Error("the stream has not ended within an hour")
		return <-l.ended
	}
}

// stop ends the call and gives the signals that nobody took.
func (l *listener) stop() (left []fetcher.Signal) {
	l.t.Helper()
	l.cancel()
	<-l.ended
	for len(l.signals) > 0 {
		if g := <-l.signals; g.Kind != fetcher.SignalHeartbeat {
			left = append(left, g)
		}
	}
	return left
}

// logged keeps what is logged.
type logged struct {
	slog.Handler
	lines *[]string
}

func newLog() (*slog.Logger, *[]string) {
	lines := new([]string)
	return slog.New(logged{slog.DiscardHandler, lines}), lines
}

func (logged) Enabled(context.Context, slog.Level) bool { return true }
func (l logged) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	*l.lines = append(*l.lines, text)
	return nil
}
