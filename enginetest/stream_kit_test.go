package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// named gives accounts by their handles.
func named(handles ...string) (accounts []fetcher.Account) {
	for _, h := range handles {
		accounts = append(accounts, fetcher.Account{Username: h})
	}
	return accounts
}

// listening is a Stream call under way in a bubble.
type listening struct {
	t       *testing.T
	changes chan []fetcher.Account
	ended   chan error
	cancel  context.CancelFunc

	mu      sync.Mutex
	signals []fetcher.Signal // since heard was called last
	newest  string           // position
}

// listen connects for the accounts nasa and esa, or for what q says.
func listen(t *testing.T, s *enginetest.PlatformStreamer, q fetcher.StreamQuery) *listening {
	l := &listening{t: t, changes: make(chan []fetcher.Account, 1), ended: make(chan error, 1)}
	if q.Accounts == nil {
		q.Accounts = named("nasa", "esa")
	}
	q.Changes = l.changes
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	go func() {
		l.ended <- s.Stream(ctx, q, func(g fetcher.Signal) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.signals = append(l.signals, g)
			if g.Position != "" {
				l.newest = g.Position
			}
			return nil
		})
	}()
	synctest.Wait()
	return l
}

// heard gives what came since it was asked last, in short: "up", "resumed",
// "accounts nasa", "one" for a post, "edit one", "delete", "beat".
func (l *listening) heard() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var words []string
	for _, g := range l.signals {
		words = append(words, short(g))
	}
	l.signals = nil
	return strings.Join(words, ", ")
}

// first is the first signal since heard was called last.
func (l *listening) first() fetcher.Signal {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.signals[0]
}

// last is the newest position.
func (l *listening) last() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

func short(g fetcher.Signal) string {
	switch g.Kind {
	case fetcher.SignalUp:
		if g.Resumed {
			return "resumed"
		}
		return "up"
	case fetcher.SignalAccounts:
		word := "accounts"
		for _, a := range g.Accounts {
			word += " " + a.Username
		}
		return word
	case fetcher.SignalPost:
		return g.Post.Text
	case fetcher.SignalEdit:
		return "edit " + g.Post.Text
	case fetcher.SignalDelete:
		return "delete"
	case fetcher.SignalHeartbeat:
		return "beat"
	}
	return fmt.Sprint("kind ", g.Kind)
}

func (l *listening) wants(want, when string) {
	l.t.Helper()
	if got := l.heard(); got != want {
		l.t.Errorf("%s: heard %q, want %q", when, got, want)
	}
}

// after lets time pass.
func (l *listening) after(d time.Duration) *listening {
	<-time.After(d)
	return l
}

// over waits for the connection's end and gives its error.
func (l *listening) over() error {
	defer l.cancel()
	synctest.Wait()
	select {
	case err := <-l.ended:
		return err
	default:
		l.t.Error("the connection goes on, want it to end")
		l.cancel()
		return <-l.ended
	}
}

// stop wants the connection to go on, and ends it.
func (l *listening) stop() {
	l.t.Helper()
	synctest.Wait()
	select {
	case err := <-l.ended:
		l.t.Errorf("the connection ended with %v, want it to go on", err)
		l.cancel()
		return
	default:
	}
	l.cancel()
	if err := <-l.ended; !errors.Is(err, context.Canceled) {
		l.t.Errorf("ended with %v, want %v", err, context.Canceled)
	}
}

// onPlatform runs a test in a bubble, with a platform of nasa, esa and jaxa.
func onPlatform(t *testing.T, cfg enginetest.StreamConfig, test func(t *testing.T, p *enginetest.Platform, s *enginetest.PlatformStreamer)) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa", "esa", "jaxa"}})
		if cfg.HeartbeatEvery == 0 {
			cfg.HeartbeatEvery = -1
		}
		test(t, p, p.Streamer(cfg))
	})
}
