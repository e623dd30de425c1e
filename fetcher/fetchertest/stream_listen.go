package fetchertest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxSignals is the largest number of signals that wait to be read by a case.
const maxSignals = 10_000

// listener is a Stream call under way.
type listener struct {
	t        *streamTest
	changes  chan []fetcher.Account
	signals  chan fetcher.Signal
	ended    chan error
	cancel   context.CancelFunc
	position string // the newest that came
}

// listen starts a Stream call. The call ends at the latest when the case ends.
func (t *streamTest) listen(position string, accounts ...fetcher.Account) *listener {
	return t.listenWith(position, accounts, nil)
}

// listenWith is like listen, but emit first calls see and returns its error.
func (t *streamTest) listenWith(position string, accounts []fetcher.Account, see func(fetcher.Signal) error) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{t: t, changes: make(chan []fetcher.Account, 1), signals: make(chan fetcher.Signal, maxSignals), ended: make(chan error, 1), cancel: cancel}
	streamer := t.streamer
	var busy atomic.Bool
	go func() {
		l.ended <- streamer.Stream(ctx, fetcher.StreamQuery{Accounts: accounts, Changes: l.changes, Position: position}, func(g fetcher.Signal) error {
			if busy.Swap(true) {
				t.Errorf("emit was called while another call of it was under way")
			}
			defer busy.Store(false)
			if see != nil {
				if err := see(g); err != nil {
					return err
				}
			}
			select {
			case l.signals <- g:
				return nil
			default:
				return errors.New("fetchertest: too many signals")
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		l.over()
	})
	return l
}

// over waits for the end of the call and returns its error. It may be called again.
func (l *listener) over() error {
	l.t.Helper()
	late := time.NewTimer(max(l.t.kit.patience/4, time.Until(l.t.deadline))) // a case that has failed still joins the call
	defer late.Stop()
	select {
	case err := <-l.ended:
		l.ended <- err
		return err
	case <-late.C:
		l.t.Errorf("Stream has not returned within %s: want it to end", l.t.kit.patience)
		return nil
	}
}

// stop ends the call by its context.
func (l *listener) stop() {
	l.t.Helper()
	l.cancel()
	if err := l.over(); !errors.Is(err, context.Canceled) {
		l.t.Errorf("Stream returns %v when its context ends: want %v", err, context.Canceled)
	}
}

// any gives the next signal.
func (l *listener) any(awaited string) fetcher.Signal {
	l.t.Helper()
	return l.wait(awaited, true)
}

// next returns the next signal that is not a heartbeat.
func (l *listener) next(awaited string) fetcher.Signal {
	l.t.Helper()
	return l.wait(awaited, false)
}

func (l *listener) wait(awaited string, heartbeats bool) fetcher.Signal {
	l.t.Helper()
	late := time.NewTimer(time.Until(l.t.deadline))
	defer late.Stop()
	for {
		var g fetcher.Signal
		select {
		case g = <-l.signals:
		case <-late.C:
			l.t.Fatalf("waited %s in vain for %s", l.t.kit.patience, awaited)
		case err := <-l.ended:
			l.ended <- err
			if len(l.signals) == 0 {
				l.t.Fatalf("the stream ended with %v; awaited: %s", err, awaited)
			}
			g = <-l.signals
		}
		if g.Position != "" {
			l.position = g.Position
		}
		if heartbeats || g.Kind != fetcher.SignalHeartbeat {
			return g
		}
	}
}

// up wants the first signal, for accounts.
func (l *listener) up(accounts ...fetcher.Account) fetcher.Signal {
	l.t.Helper()
	g := l.any("SignalUp")
	if g.Kind != fetcher.SignalUp {
		l.t.Errorf("the first signal has the kind %d: want SignalUp", g.Kind)
	}
	told := g
	for l.t.up.Gradual && !sameAccounts(told.Accounts, accounts) {
		if told = l.any("SignalAccounts with all that are wanted"); told.Kind != fetcher.SignalAccounts {
			told.Accounts = nil
		}
	}
	l.tells(told, accounts)
	return g
}

// sameAccounts compares sets.
func sameAccounts(a, b []fetcher.Account) bool {
	told := map[fetcher.Account]bool{}
	for _, x := range a {
		told[x] = true
	}
	for _, x := range b {
		if !told[x] {
			return false
		}
	}
	return len(a) == len(b)
}

// tells checks that a signal lists the accounts as the query named them, in any order.
func (l *listener) tells(g fetcher.Signal, accounts []fetcher.Account) {
	l.t.Helper()
	if !sameAccounts(g.Accounts, accounts) {
		l.t.Errorf("the accounts %v are told: want %v, as the query named them", g.Accounts, accounts)
	}
}

// post checks that the next signal has the post, and returns the signal.
func (l *listener) post(a fetcher.Account, text string) fetcher.Signal {
	l.t.Helper()
	g := l.next("the post " + text)
	switch {
	case g.Kind != fetcher.SignalPost:
		l.t.Errorf("a signal has the kind %d: want SignalPost, with %q", g.Kind, text)
	case g.Post == nil:
		l.t.Errorf("SignalPost has no Post: want one with %q", text)
	case !shows(g.Post, text):
		l.t.Errorf("a post says %q: want %q, as the platform sent it next", g.Post.Text, text)
	case g.Post.ID == "" || g.Post.PublishedAt.IsZero():
		l.t.Errorf("the post %q has the ID %q and was published %s: want both, it is dropped", text, g.Post.ID, g.Post.PublishedAt)
	case !isOf(g.Post, a):
		l.t.Errorf("the post %q is of %q, UserID %q: want of %v", text, g.Post.Username, g.Post.UserID, a)
	case !l.t.streamer.Brings(g.Post):
		l.t.Errorf("Brings says that %q, which came, is left out", text)
	}
	return g
}

// shows reports whether a post has a text.
func shows(tw *fetcher.Tweet, text string) bool {
	return strings.Contains(tw.Text, text) || strings.Contains(tw.FullText, text)
}

// isOf reports whether the author of a post is a, by UserID or Username.
func isOf(tw *fetcher.Tweet, a fetcher.Account) bool {
	return a.UserID != "" && tw.UserID == a.UserID || a.Username != "" && strings.EqualFold(tw.Username, a.Username)
}
