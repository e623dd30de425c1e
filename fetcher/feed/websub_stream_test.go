package feed_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

func TestWebSubSuite(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		w := newWeb(t)
		w.welcome = true // else a hub is trusted with its first push only
		var accounts []fetcher.Account
		for _, name := range []string{"a", "b", "c"} {
			accounts = append(accounts, fetcher.Account{Username: w.add(name, hubAddress)})
		}
		var f *feed.Fetcher
		return fetchertest.StreamUpstream{
			Accounts: accounts, Gradual: true, Silent: true,
			New: func(testing.TB) (s fetcher.Streamer) {
				f, s = w.open(feed.WebSubConfig{})
				for _, a := range accounts {
					if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: a.Username}); err != nil {
						t.Fatal(err)
					}
				}
				return s
			},
			Post: func(a fetcher.Account, text string) { w.post(a.Username, text) },
		}
	}})
}

// A hub is trusted with a feed once it has pushed it. What it pushes comes once, the oldest
// first, under the name that the engine gave.
func TestWebSubBrings(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		l.want(nil)
		if w.subscriptions() != 3 {
			t.Fatalf("%d subscriptions, want 3", w.subscriptions())
		}
		w.set(func() { w.write(address("a"), "before", time.Now().Add(-time.Second)) })
		w.post(address("a"), "one")
		pass(2 * time.Second)
		l.want([]string{"the first entry", "before", "one"}, "a")
		w.set(func() { w.only = true })
		w.post(address("c"), "two")
		w.post(address("a"), "three")
		w.ping(address("a"))
		pass(2 * time.Second)
		l.want([]string{"the first entry", "before", "one", "two", "three"}, "a", "c")
		if st := ws.Stats(); st.Feeds != 3 || st.Leased != 3 || st.Trusted != 2 || st.Pings != 4 || st.Posts != 5 || st.Thin != 0 {
			t.Errorf("counted %+v", st)
		}
		for _, g := range l.signals {
			if g.Kind == fetcher.SignalPost && (g.Post.UserID == "" || !strings.HasPrefix(g.Post.Username, address(""))) {
				t.Errorf("a post of %q, %q", g.Post.UserID, g.Post.Username)
			}
		}
		if len(l.gaps()) != 0 {
			t.Errorf("gaps of %q", l.gaps())
		}
	})
}

// A push without entries, without a document, or from a hub that has no secret has the feed
// polled, once a minute at most.
func TestWebSubThinPings(t *testing.T) {
	for name, c := range map[string]struct {
		thin bool
		hub  string
		body string
	}{
		"empty": {true, hubAddress, ""}, "without a secret": {false, "http://plain.example.com/hub", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.thin = c.thin
				w.add("a", c.hub)
				f, ws := w.open(feed.WebSubConfig{})
				poll := poller(t, f)
				poll("a")
				l := listen(t, ws, "a")
				defer l.stop()
				pass(5 * time.Second)
				for range 30 {
					w.post(address("a"), "x")
					pass(10 * time.Second)
					poll("a")
				}
				pass(time.Minute)
				l.want(nil, "a")
				if n := len(l.gaps()); n < 5 || n > 6 {
					t.Errorf("polls are asked for %d times in five minutes of pings", n)
				}
				pass(time.Hour)
				l.want(nil, "a")
				if st := ws.Stats(); st.Thin != 30 || st.Misses != 0 {
					t.Errorf("counted %+v", st)
				}
			})
		})
	}
}

// The engine knows feeds by names of its own, and each stream gets everything.
func TestWebSubNamesAndStreams(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		l.changes <- []fetcher.Account{{Username: "HTTPS://Blog.Example.com:443/%61", UserID: "7"}}
		pass(2 * time.Second)
		w.post(address("a"), "one")
		pass(2 * time.Second)
		l.want([]string{"one"}, "HTTPS://Blog.Example.com:443/%61")
		l.mu.Lock()
		for _, g := range l.signals {
			if g.Kind == fetcher.SignalPost && g.Post.Username != "HTTPS://Blog.Example.com:443/%61" {
				t.Errorf("a post of %q", g.Post.Username)
			}
		}
		l.mu.Unlock()
		l.stop()
		l.ended <- context.Canceled
		again := listen(t, ws, "a")
		defer again.stop()
		pass(5 * time.Second)
		again.want(nil)
		w.ping(address("a"))
		pass(2 * time.Second)
		again.want([]string{"one"}, "a")
	})
}

// The engine stops, or does not take a post: the hub is asked to repeat.
func TestWebSubEngineStops(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		stopping := errors.New("stopping")
		l.mu.Lock()
		l.fail = stopping
		l.mu.Unlock()
		done := make(chan bool)
		go func() { w.post(address("a"), "one"); close(done) }()
		synctest.Wait()
		if err := <-l.ended; !errors.Is(err, stopping) {
			t.Errorf("Stream returns %v", err)
		}
		again := listen(t, ws, "a", "b", "c")
		defer again.stop()
		<-done
		if got := again.brought(); !slices.Contains(got, "one") || w.count(&w.repeats) != 1 || ws.Stats().Busy != 1 {
			t.Errorf("brought %q after %d repetitions, %+v", got, w.count(&w.repeats), ws.Stats())
		}
		if got := again.covered(); len(got) != 0 {
			// The first push to the new stream has made the feed trusted, a moment later.
			pass(2 * time.Second)
		}
		pass(2 * time.Second)
		if got := again.covered(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%q are told", got)
		}
		l.ended <- context.Canceled
	})
}

// An engine that has no room for a post has the hub repeat it, and gets it once.
func TestWebSubEngineIsBusy(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		room := make(chan bool)
		l.set(func() { l.wait = room })
		done := make(chan bool)
		go func() { w.post(address("a"), "one"); close(done) }()
		pass(20 * time.Second)
		if st := ws.Stats(); st.Busy != 1 || len(l.brought()) != 0 {
			t.Errorf("counted %+v while there is no room: want the hub to be asked to repeat", st)
		}
		close(room)
		<-done
		pass(2 * time.Second)
		l.want([]string{"one"}, "a")
		if n := w.count(&w.repeats); n != 1 {
			t.Errorf("the hub has pushed %d times more, want once", n)
		}
	})
}

// Stream is called once at a time.
func TestWebSubTwice(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		w.post(address("a"), "one")
		pass(2 * time.Second)
		if err := ws.Stream(t.Context(), fetcher.StreamQuery{}, func(fetcher.Signal) error { return nil }); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("a second Stream returns %v", err)
		}
		pass(2 * time.Second)
		l.want([]string{"one"}, "a")
		if st := ws.Stats(); st.Trusted != 1 {
			t.Errorf("the first Stream has lost its trust: %+v", st)
		}
	})
}

// The next process with the same secret is reached at the same paths.
func TestWebSubRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.add("a", hubAddress)
		for range 2 {
			f, ws := w.open(feed.WebSubConfig{})
			l := listen(t, ws, "a")
			pass(time.Second)
			if len(w.requests) > 0 { // the hub pushes before the feed was polled, and repeats
				go w.post(address("a"), "early")
				pass(time.Second)
			}
			poller(t, f)("a")
			pass(time.Minute)
			l.stop()
		}
		if len(w.requests) != 2 || w.requests[0].Encode() != w.requests[1].Encode() || len(w.subscribed) != 1 {
			t.Errorf("requests %v, %d subscriptions", w.requests, len(w.subscribed))
		}
		if w.statuses[503] == 0 || w.statuses[200] == 0 || w.statuses[404]+w.statuses[410] > 0 {
			t.Errorf("pushes were answered %v: want 503, and then 200", w.statuses)
		}
	})
}
