package feed_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

// listener is a Stream call under way.
type listener struct {
	t       testing.TB
	changes chan []fetcher.Account
	cancel  func()
	ended   chan error

	mu   sync.Mutex
	gaps []string // accounts that were to be polled
	fail error    // of emit
}

func listen(t testing.TB, ws *feed.WebSub, names ...string) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{t: t, changes: make(chan []fetcher.Account, 1), cancel: cancel, ended: make(chan error, 1)}
	go func() {
		l.ended <- ws.Stream(ctx, fetcher.StreamQuery{Accounts: named(names...), Changes: l.changes}, l.emit)
	}()
	pass(5 * time.Second)
	return l
}

func (l *listener) stop() {
	l.cancel()
	if err := <-l.ended; !errors.Is(err, context.Canceled) {
		l.t.Errorf("Stream returns %v", err)
	}
}

func (l *listener) emit(g fetcher.Signal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch g.Kind {
	case fetcher.SignalUp:
		if len(g.Accounts) > 0 {
			l.t.Errorf("%d accounts are said to be brought", len(g.Accounts))
		}
	case fetcher.SignalGap:
		for _, a := range g.Accounts {
			l.gaps = append(l.gaps, strings.TrimPrefix(a.Username, address("")))
		}
	default:
		l.t.Errorf("a signal of the kind %d", g.Kind)
	}
	return l.fail
}

// want compares the feeds that were to be polled since the last call.
func (l *listener) want(names ...string) {
	l.t.Helper()
	pass(2 * time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Sort(l.gaps); !slices.Equal(l.gaps, names) {
		l.t.Errorf("%q are to be polled, want %q", l.gaps, names)
	}
	l.gaps = nil
}

// webSub runs f in a bubble with a WebSub whose Stream has the feeds a, b and c, of two
// hubs, which the Fetcher has polled.
func webSub(t *testing.T, f func(t *testing.T, w *web, poll func(name string), ws *feed.WebSub, l *listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.add("a", hubAddress)
		w.add("b", hubAddress)
		w.add("c", "https://other.example.com/hub")
		fetcher, ws := w.open()
		poll := poller(t, fetcher)
		for _, name := range []string{"a", "b", "c"} {
			poll(name)
		}
		l := listen(t, ws, "a", "b", "c")
		defer l.stop()
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

// What a hub pushes is polled, under the name that the engine gave.
func TestWebSubHints(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		l.want()
		if w.subscriptions() != 3 {
			t.Fatalf("%d subscriptions, want 3", w.subscriptions())
		}
		w.post(address("a"), "one")
		l.want("a")
		w.post(address("c"), "two")
		w.post(address("a"), "three")
		l.want("a", "c")
		if st := ws.Stats(); st.Feeds != 3 || st.Leased != 3 || st.Pushes != 3 || st.Requests != 3 {
			t.Errorf("counted %+v", st)
		}
		if ws.Brings(&fetcher.Tweet{}) {
			t.Error("a post is said to be brought")
		}
		l.changes <- []fetcher.Account{{Username: "HTTPS://Blog.Example.com:443/%61", UserID: "7"}}
		pass(2 * time.Second)
		w.post(address("a"), "four")
		l.want("HTTPS://Blog.Example.com:443/%61")
	})
}

// Feeds come and go, and their hubs with them.
func TestWebSubChanges(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, poll func(string), ws *feed.WebSub, l *listener) {
		l.changes <- append(named("b"), fetcher.Account{Username: "no address"})
		pass(2 * time.Second)
		w.post(address("a"), "unwanted")
		w.post(address("b"), "wanted")
		l.want("b")
		if w.statuses[http.StatusGone] != 1 || ws.Stats().Feeds != 1 {
			t.Errorf("pushes are answered %v, %+v", w.statuses, ws.Stats())
		}
		// A feed that comes again, and one that has a hub from some time on.
		l.changes <- named("a", "b", "d")
		w.add("d", "")
		poll("d")
		pass(2 * time.Second)
		w.post(address("a"), "wanted again")
		l.want("a")
		for _, hub := range []string{"https://third.example.com/", hubAddress} {
			w.set(func() { w.feeds[address("d")].hub = hub })
			poll("d")
			pass(2 * time.Second)
			w.post(address("d"), "by "+hub)
			l.want("d")
		}
		// A document without a hub, from another node of the server, changes nothing.
		w.set(func() { w.feeds[address("d")].hub = "" })
		poll("d")
		pass(2 * time.Second)
		w.post(address("d"), "again")
		l.want("d")
	})
}

// A feed that does not want to be read for an hour is, when its hub says that there is
// something.
func TestWebSubEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.add("a", hubAddress)
		w.feeds[address("a")].header = []string{"Cache-Control", "max-age=3600"}
		f, ws := w.open()
		var page fetcher.Page
		read := func() (requests int) {
			before := w.count(&w.polls)
			p, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: address("a"), Known: page.Version, Seen: func(string) bool { return true }})
			if err != nil {
				t.Fatal(err)
			}
			page = p
			return w.count(&w.polls) - before
		}
		first := read()
		l := listen(t, ws, "a")
		defer l.stop()
		paused := read()
		w.post(address("a"), "one")
		l.want("a")
		if after := read(); first != 1 || paused != 0 || after != 1 {
			t.Errorf("%d, %d and %d requests: want one, none in the pause, and one after the push", first, paused, after)
		}
	})
}

// A feed that claims another one's topic with a hub of its own has that hub push to itself
// alone, and two addresses of one feed are both pushed.
func TestWebSubTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.add("a", hubAddress)
		w.add("a?x=1", hubAddress)
		w.add("evil", "https://evil.example.com/")
		f, ws := w.open()
		for _, name := range []string{"a", "a?x=1", "evil"} {
			w.feeds[address(name)].self = address("a")
			poller(t, f)(name)
		}
		l := listen(t, ws, "a", "a?x=1", "evil")
		defer l.stop()
		w.set(func() { w.dead["https://evil.example.com/"] = true })
		w.post(address("a"), "one")
		l.want("a", "a?x=1")
		w.set(func() { w.dead = map[string]bool{hubAddress: true} })
		w.post(address("a"), "forged")
		l.want("evil")
	})
}

// Stream is called once at a time, ends with the error of emit, and can be called again.
func TestWebSubStream(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		if err := ws.Stream(t.Context(), fetcher.StreamQuery{}, func(fetcher.Signal) error { return nil }); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("a second Stream returns %v", err)
		}
		w.post(address("a"), "one")
		l.want("a")
		stopping := errors.New("stopping")
		l.mu.Lock()
		l.fail = stopping
		l.mu.Unlock()
		w.post(address("a"), "two")
		if err := <-l.ended; !errors.Is(err, stopping) {
			t.Errorf("Stream returns %v", err)
		}
		w.post(address("a"), "while nothing runs")
		if w.statuses[http.StatusServiceUnavailable] != 1 {
			t.Errorf("pushes are answered %v, want the last to be repeated", w.statuses)
		}
		again := listen(t, ws, "a")
		w.post(address("a"), "three")
		again.want("a")
		close(again.changes)
		w.post(address("a"), "when no more feeds will come")
		again.want("a")
		again.stop()
		if err := ws.Stream(t.Context(), fetcher.StreamQuery{}, func(fetcher.Signal) error { return stopping }); !errors.Is(err, stopping) {
			t.Errorf("Stream returns %v, want the error of its first signal", err)
		}
		l.ended <- context.Canceled
	})
}

// Which hubs are asked for what.
func TestWebSubHubs(t *testing.T) {
	for _, c := range []struct{ name, feed, hub, self, asked, topic string }{
		{"as the feed says", address("a"), hubAddress, "https://blog.example.com/topic", hubAddress, "https://blog.example.com/topic"},
		{"YouTube", "https://www.youtube.com/feeds/videos.xml?channel_id=UC1", "", "http://www.youtube.com/feeds/videos.xml?channel_id=UC1",
			"https://pubsubhubbub.appspot.com/subscribe", "https://www.youtube.com/xml/feeds/videos.xml?channel_id=UC1"},
		{"YouTube, a playlist", "https://www.youtube.com/feeds/videos.xml?playlist_id=PL1", "", "", "", ""},
		{"no YouTube", "https://notyoutube.com/feeds/videos.xml?channel_id=1", "", "", "", ""},
		{"PuSHPress", address("a"), "https://blog.example.com/?pushpress=hub", "", "https://blog.example.com/?pushpress=hub", address("a")},
		{"Google, by http", address("a"), "http://pubsubhubbub.appspot.com/", "", "https://pubsubhubbub.appspot.com/", address("a")},
		{"Superfeedr, by http", address("a"), "http://medium.superfeedr.com", "", "https://medium.superfeedr.com/", address("a")},
		{"without TLS", address("a"), "http://hub.example.com/", "", "http://hub.example.com/", address("a")},
		{"none", address("a"), "", "", "", ""},
		{"a private network's", address("a"), "https://10.0.0.1/", "", "", ""},
		{"this machine's", address("a"), "http://127.0.0.1:8080/", "", "", ""},
		{"a cloud's", address("a"), "http://169.254.169.254/latest", "", "", ""},
		{"of a name that is private", address("a"), "https://localhost/", "", "", ""},
		{"on another port", address("a"), "https://hub.example.com:25/", "", "", ""},
		{"that moves to a private network", address("a"), "https://moved.example.com/", "", "https://moved.example.com/", address("a")},
		{"with a password", address("a"), "https://user:pass@hub.example.com/", "", "", ""},
		{"of another scheme", address("a"), "gopher://hub.example.com/", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.feeds[c.feed] = &webFeed{hub: c.hub, self: c.self}
				f, ws := w.open()
				if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: c.feed}); err != nil {
					t.Fatal(err)
				}
				l := listen(t, ws)
				defer l.stop()
				l.changes <- []fetcher.Account{{Username: c.feed}}
				pass(time.Minute)
				w.mu.Lock()
				defer w.mu.Unlock()
				asked, topic := strings.Join(slices.Compact(w.asked), " "), ""
				if len(w.requests) > 0 {
					topic = w.requests[0].Get("hub.topic")
				}
				if asked != c.asked || topic != c.topic {
					t.Errorf("%q is asked for %q, want %q for %q", asked, topic, c.asked, c.topic)
				}
			})
		})
	}
}
