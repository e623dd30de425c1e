package feed_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

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
		if got := l.covered(); !slices.Equal(got, []string{"b"}) || w.subscriptions() != 3 {
			t.Errorf("%q are told, %d subscriptions", got, w.subscriptions())
		}
		w.post(address("d"), "of d, by the new hub")
		pass(2 * time.Second)
		if got := l.covered(); !slices.Equal(got, []string{"b", "d"}) || len(w.statuses) != 1 {
			t.Errorf("%q are told, pushes were answered %v", got, w.statuses)
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

// A feed that claims another one's topic with a hub of its own has that hub push to itself
// alone.
func TestWebSubClaimedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.add("a", hubAddress)
		w.add("evil", "https://evil.example.com/")
		w.feeds[address("evil")].self = address("a")
		f, ws := w.open(feed.WebSubConfig{})
		poller(t, f)("a")
		poller(t, f)("evil")
		l := listen(t, ws, "a", "evil")
		defer l.stop()
		pass(5 * time.Second)
		w.set(func() { w.dead[hubAddress], w.only = true, true })
		w.post(address("a"), "forged")
		pass(2 * time.Second)
		l.want([]string{"forged"}, "evil")
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
				if st := ws.Stats(); c.asked == "" && st.Feeds+int(st.Failures) != 0 {
					t.Errorf("counted %+v", st)
				}
				if asked != c.asked || topic != c.topic {
					t.Errorf("%q is asked for %q, want %q for %q", asked, topic, c.asked, c.topic)
				}
			})
		})
	}
}
