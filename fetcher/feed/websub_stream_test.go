package feed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
				if st := ws.Stats(); st.Thin != 30 || st.Misses != 0 {
					t.Errorf("counted %+v", st)
				}
			})
		})
	}
}

// The lease of a hub that does not renew it ends, and with it what is brought. A new lease
// does not suffice: the hub has to push.
func TestWebSubLeaseEnds(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		w.post(address("a"), "one")
		w.post(address("c"), "two")
		w.set(func() {
			w.refuses = func(hub string, _ int) *http.Response {
				if hub == hubAddress {
					return answer(nil, http.StatusServiceUnavailable, "", "Retry-After", "120")
				}
				return nil
			}
		})
		pass(9 * 24 * time.Hour)
		l.want([]string{"one", "two"}, "a", "c")
		pass(2 * 24 * time.Hour)
		l.want([]string{"one", "two"}, "c")
		w.set(func() { w.refuses = nil })
		pass(2 * time.Hour)
		l.want([]string{"one", "two"}, "c")
		if st := ws.Stats(); st.Leased != 3 || st.Trusted != 1 {
			t.Errorf("counted %+v", st)
		}
		w.post(address("a"), "three")
		pass(2 * time.Second)
		l.want([]string{"one", "two", "three"}, "a", "c")
	})
}

// An entry that a poll finds and the hub should have pushed takes the feed out, until the
// hub has pushed again; a second time it takes two pushes.
func TestWebSubMiss(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, poll func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		for _, name := range []string{"a", "b", "c"} {
			w.post(address(name), "one of "+name)
		}
		pass(2 * time.Second)
		poll("a") // finds nothing that was not pushed
		for i := range 2 {
			w.set(func() { w.dead[hubAddress] = true })
			id := w.post(address("a"), fmt.Sprint("not pushed ", i))
			pass(5 * time.Second)
			poll("a") // it may come yet
			pass(2 * time.Second)
			if got := l.covered(); !slices.Equal(got, []string{"a", "b", "c"}) {
				t.Errorf("%q are told while the hub has time", got)
			}
			pass(11 * time.Minute)
			if got := l.covered(); !slices.Equal(got, []string{"b", "c"}) {
				t.Errorf("%q are told after a miss of %s, want b and c", got, id)
			}
			if st := ws.Stats(); st.Misses != int64(i+1) || st.Trusted != 2 {
				t.Errorf("counted %+v", st)
			}
			w.set(func() { delete(w.dead, hubAddress) })
			for n := range 1 << i {
				if got := l.covered(); !slices.Equal(got, []string{"b", "c"}) {
					t.Errorf("%q are told after %d pushes", got, n)
				}
				w.post(address("a"), "pushed again")
				pass(2 * time.Second)
			}
			if got := l.covered(); !slices.Equal(got, []string{"a", "b", "c"}) {
				t.Errorf("%q are told after the hub has pushed again", got)
			}
		}
	})
}

// An entry with a date of long ago is missed, too, where a poll before did not show it.
func TestWebSubMissOfABackdatedEntry(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, poll func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		w.set(func() { w.write(address("a"), "from before", time.Now().Add(-48*time.Hour)) })
		w.post(address("a"), "one")
		pass(time.Minute)
		poll("a")
		pass(time.Hour)
		if st := ws.Stats(); st.Misses != 0 {
			t.Errorf("an entry from before is a miss: %+v", st)
		}
		w.set(func() { w.write(address("a"), "of long ago", time.Now().Add(-48*time.Hour)) })
		poll("a")
		pass(11 * time.Minute)
		if st := ws.Stats(); st.Misses != 1 || len(l.covered()) != 0 {
			t.Errorf("%q are told, counted %+v", l.covered(), st)
		}
	})
}

// A hub that leaves out entries of three feeds is trusted with none.
func TestWebSubDeadHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		var names []string
		for i := range 10 {
			names = append(names, fmt.Sprint(i))
			w.add(names[i], []string{hubAddress, "https://other.example.com/hub"}[i/8])
		}
		f, ws := w.open(feed.WebSubConfig{})
		poll := poller(t, f)
		for _, name := range names {
			poll(name)
		}
		l := listen(t, ws, names...)
		defer l.stop()
		pass(5 * time.Second)
		for _, name := range names {
			w.post(address(name), "x")
		}
		pass(2 * time.Second)
		if got := l.covered(); len(got) != 10 {
			t.Fatalf("%q are told", got)
		}
		w.set(func() { w.dead[hubAddress] = true })
		for i, want := range []int{9, 8, 2} {
			w.post(address(names[i]), "y")
			poll(names[i])
			pass(11 * time.Minute)
			if got := l.covered(); len(got) != want {
				t.Errorf("%q are told after %d misses, want %d", got, i+1, want)
			}
		}
	})
}

// Feeds come and go, and their hubs with them.
func TestWebSubChanges(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, poll func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		for _, name := range []string{"a", "b", "c"} {
			w.post(address(name), "one of "+name)
		}
		pass(2 * time.Second)
		l.changes <- append(named("b"), fetcher.Account{Username: "no address"})
		pass(2 * time.Second)
		if got := l.covered(); !slices.Equal(got, []string{"b"}) || w.subscriptions() != 1 {
			t.Errorf("%q are told, %d subscriptions", got, w.subscriptions())
		}
		w.post(address("a"), "unwanted")
		l.changes <- named("a", "b", "d")
		pass(2 * time.Second)
		if got := l.covered(); !slices.Equal(got, []string{"b"}) || w.subscriptions() != 2 {
			t.Errorf("%q are told before the feed that came again is pushed, %d subscriptions", got, w.subscriptions())
		}
		// A feed that has a hub from some time on.
		w.add("d", "")
		poll("d")
		pass(2 * time.Second)
		w.set(func() { w.feeds[address("d")].hub = "https://third.example.com/" })
		poll("d")
		pass(2 * time.Second)
		w.post(address("d"), "of d")
		pass(2 * time.Second)
		if got := l.covered(); !slices.Equal(got, []string{"b", "d"}) {
			t.Errorf("%q are told", got)
		}
		// Another hub, which is believed when it was named three times in a row.
		w.set(func() { w.feeds[address("d")].hub = hubAddress })
		for i := range 3 {
			if ws.Stats().Trusted != 2 {
				t.Errorf("%d polls with another hub: %+v", i, ws.Stats())
			}
			w.set(func() { w.write(address("d"), "x", time.Now().Add(-time.Hour)) })
			poll("d")
			pass(2 * time.Second)
		}
		if got := l.covered(); !slices.Equal(got, []string{"b"}) || w.subscriptions() != 4 {
			t.Errorf("%q are told, %d subscriptions", got, w.subscriptions())
		}
		w.post(address("d"), "of d, by the new hub")
		pass(2 * time.Second)
		if got := l.covered(); !slices.Equal(got, []string{"b", "d"}) || w.statuses[http.StatusGone] != 1 || w.subscriptions() != 3 {
			t.Errorf("%q are told, pushes were answered %v", got, w.statuses)
		}
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

// Stream is called once at a time.
func TestWebSubTwice(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, _ func(string), ws *feed.WebSub, l *listener) {
		if err := ws.Stream(t.Context(), fetcher.StreamQuery{}, func(fetcher.Signal) error { return nil }); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("a second Stream returns %v", err)
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

// A feed that does not want to be read for an hour is, when its hub says that there is
// something.
func TestWebSubThinPingEndsAPause(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, poll func(string), _ *feed.WebSub, _ *listener) {
		w.set(func() { w.feeds[address("a")].header, w.thin = []string{"Cache-Control", "max-age=3600"}, true })
		f, ws := w.open(feed.WebSubConfig{})
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
		pass(5 * time.Second)
		paused := read()
		w.post(address("a"), "one")
		pass(5 * time.Second)
		if after := read(); first != 1 || paused != 0 || after != 1 {
			t.Errorf("%d, %d and %d requests: want one, none in the pause, and one after the ping", first, paused, after)
		}
	})
}

// Two addresses of one feed: what is pushed is of both.
func TestWebSubOneTopicOfTwoFeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.add("a", hubAddress)
		w.add("a?x=1", hubAddress)
		w.feeds[address("a?x=1")].self = address("a")
		f, ws := w.open(feed.WebSubConfig{})
		poller(t, f)("a")
		poller(t, f)("a?x=1")
		l := listen(t, ws, "a", "a?x=1")
		defer l.stop()
		pass(5 * time.Second)
		w.only = true
		w.post(address("a"), "one")
		pass(2 * time.Second)
		l.want([]string{"one", "one"}, "a", "a?x=1")
		if w.subscriptions() != 1 || len(w.requests) != 1 {
			t.Errorf("%d subscriptions after %d requests", w.subscriptions(), len(w.requests))
		}
	})
}

// Which hubs are asked for what.
func TestWebSubHubs(t *testing.T) {
	for _, c := range []struct{ name, feed, hub, self, asked, topic string }{
		{"as the feed says", address("a"), hubAddress, "https://blog.example.com/topic", hubAddress, "https://blog.example.com/topic"},
		{"YouTube", "https://www.youtube.com/feeds/videos.xml?channel_id=UC1", "", "http://www.youtube.com/feeds/videos.xml?channel_id=UC1",
			"https://pubsubhubbub.appspot.com/subscribe", "https://www.youtube.com/xml/feeds/videos.xml?channel_id=UC1"},
		{"PuSHPress", address("a"), "https://blog.example.com/?pushpress=hub", "", "https://blog.example.com/?pushpress=hub", address("a")},
		{"without TLS", address("a"), "http://hub.example.com/", "", "http://hub.example.com/", address("a")},
		{"none", address("a"), "", "", "", ""},
		{"a private network's", address("a"), "https://10.0.0.1/", "", "", ""},
		{"this machine's", address("a"), "http://127.0.0.1:8080/", "", "", ""},
		{"a cloud's", address("a"), "http://169.254.169.254/latest", "", "", ""},
		{"of a name that is private", address("a"), "https://localhost/", "", "", ""},
		{"on another port", address("a"), "https://hub.example.com:25/", "", "", ""},
		{"with a password", address("a"), "https://user:pass@hub.example.com/", "", "", ""},
		{"of another scheme", address("a"), "gopher://hub.example.com/", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t)
				w.feeds[c.feed] = &webFeed{hub: c.hub, self: c.self}
				asked := ""
				w.refuses = func(hub string, _ int) *http.Response { w.set(func() { asked = hub }); return nil }
				f, ws := w.open(feed.WebSubConfig{})
				if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: c.feed}); err != nil {
					t.Fatal(err)
				}
				l := &listener{t: t, ended: make(chan error, 1)}
				ctx, cancel := context.WithCancel(t.Context())
				l.cancel = cancel
				go func() {
					l.ended <- ws.Stream(ctx, fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: c.feed}}}, l.emit)
				}()
				defer l.stop()
				pass(time.Minute)
				w.mu.Lock()
				defer w.mu.Unlock()
				topic := ""
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
