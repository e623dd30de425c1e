package feed_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

func listen(t testing.TB, ws *feed.WebSub, names ...string) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{t: t, changes: make(chan []fetcher.Account, 1), cancel: cancel, ended: make(chan error, 1)}
	go func() {
		l.ended <- ws.Stream(ctx, fetcher.StreamQuery{Accounts: named(names...), Changes: l.changes}, l.emit)
	}()
	return l
}

func (l *listener) stop() {
	l.cancel()
	if err := <-l.ended; !errors.Is(err, context.Canceled) {
		l.t.Errorf("Stream returns %v", err)
	}
}

func (l *listener) want(brought []string, covered ...string) {
	l.t.Helper()
	if got := l.brought(); !slices.Equal(got, brought) {
		l.t.Errorf("brought %q, want %q", got, brought)
	}
	if got := l.covered(); !slices.Equal(got, covered) {
		l.t.Errorf("the accounts %q are told, want %q", got, covered)
	}
}

// listener is a Stream call under way.
type listener struct {
	t       testing.TB
	changes chan []fetcher.Account
	cancel  func()
	ended   chan error

	mu      sync.Mutex
	signals []fetcher.Signal
	fail    error     // of emit
	wait    chan bool // emit waits until it is closed; nil for not
}

func (l *listener) set(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

func (l *listener) emit(g fetcher.Signal) error {
	l.mu.Lock()
	wait := l.wait
	l.mu.Unlock()
	if wait != nil {
		<-wait
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	l.signals = append(l.signals, g)
	return nil
}

// brought are the texts of the posts that came, in order.
func (l *listener) brought() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.signals {
		if g.Kind == fetcher.SignalPost {
			texts = append(texts, g.Post.Text)
		}
	}
	return texts
}

// covered are the accounts told last.
func (l *listener) covered() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.signals {
		if g.Kind == fetcher.SignalUp || g.Kind == fetcher.SignalAccounts {
			names = nil
			for _, a := range g.Accounts {
				names = append(names, strings.TrimPrefix(a.Username, address("")))
			}
		}
	}
	slices.Sort(names)
	return names
}

// gaps are the accounts of all gaps.
func (l *listener) gaps() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.signals {
		if g.Kind == fetcher.SignalGap {
			for _, a := range g.Accounts {
				names = append(names, strings.TrimPrefix(a.Username, address("")))
			}
		}
	}
	return names
}

// webSub runs f in a bubble with a WebSub whose Stream brings the feeds a, b and c, of two
// hubs, which the Fetcher has polled.
func webSub(t *testing.T, f func(t *testing.T, w *web, poll func(name string), ws *feed.WebSub, l *listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.add("a", hubAddress)
		w.add("b", hubAddress)
		w.add("c", "https://other.example.com/hub")
		fetcher, ws := w.open(feed.WebSubConfig{})
		poll := poller(t, fetcher)
		for _, name := range []string{"a", "b", "c"} {
			poll(name)
		}
		l := listen(t, ws, "a", "b", "c")
		defer l.stop()
		pass(5 * time.Second)
		f(t, w, poll, ws, l)
	})
}

func poller(t testing.TB, f *feed.Fetcher) func(name string) {
	return func(name string) {
		t.Helper()
		if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: address(name)}); err != nil {
			t.Fatal(err)
		}
	}
}

func named(names ...string) (accounts []fetcher.Account) {
	for _, n := range names {
		accounts = append(accounts, fetcher.Account{Username: address(n)})
	}
	return accounts
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
