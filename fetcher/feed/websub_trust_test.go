package feed_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

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

// What the hub has brought it was meant to bring. What polls of the same Fetcher show does
// not count against other feeds' hubs.
func TestWebSubBringsAsPollsTell(t *testing.T) {
	webSub(t, func(t *testing.T, w *web, poll func(string), ws *feed.WebSub, l *listener) {
		w.set(func() { w.only = true })
		w.post(address("a"), "one")
		pass(time.Minute)
		poll("a")
		var post fetcher.Tweet
		for _, g := range l.signals {
			if g.Kind == fetcher.SignalPost {
				post = *g.Post
			}
		}
		other := func(id string, at time.Time) *fetcher.Tweet {
			return &fetcher.Tweet{ID: id, UserID: post.UserID, Username: post.Username, PublishedAt: at}
		}
		w.set(func() { w.dead[hubAddress] = true })
		w.post(address("a"), "two")
		poll("a")
		published := time.Now()
		page, err := w.fetcher.Timeline(t.Context(), fetcher.TimelineQuery{Username: address("a")})
		if err != nil {
			t.Fatal(err)
		}
		missed := page.Tweets[0]
		pass(9 * time.Minute)
		if !ws.Brings(&post) {
			t.Error("what was brought was not meant to be")
		}
		if ws.Brings(&missed) || missed.Text != "two" {
			t.Errorf("a poll's %q counts against all hubs", missed.Text)
		}
		if ws.Brings(other("x", published.Add(-time.Hour))) {
			t.Error("an entry of before was meant to be brought")
		}
		if ws.Brings(other("x", time.Now())) {
			t.Error("an entry of now was meant to be brought by now")
		}
		pass(59 * time.Second)
		if !ws.Brings(other("x", published.Add(-30*time.Second))) {
			t.Error("an entry that no poll of the Fetcher has shown is not meant to be brought")
		}
		pass(time.Minute)
		if ws.Stats().Misses != 1 || ws.Brings(other("x", published)) {
			t.Errorf("a hub that is not trusted was meant to bring an entry: %+v", ws.Stats())
		}
		if ws.Brings(&fetcher.Tweet{ID: "x", UserID: "nobody"}) {
			t.Error("a stranger's entry was meant to be brought")
		}
	})
}

// The Fetcher forgets feeds; what they show then is not new.
func TestWebSubOfAForgottenFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.only = true
		f, ws := w.openWith(feed.Config{MaxFeeds: 1}, feed.WebSubConfig{})
		poll := poller(t, f)
		l := listen(t, ws, "a", "b")
		defer l.stop()
		pass(time.Second)
		for _, name := range []string{"a", "b"} {
			w.add(name, hubAddress)
			poll(name)
		}
		pass(5 * time.Second)
		w.post(address("a"), "one")
		for range 3 {
			pass(11 * time.Minute)
			poll("a")
			poll("b")
		}
		l.want([]string{"one"}, "a")
		if st := ws.Stats(); st.Misses != 0 {
			t.Errorf("counted %+v", st)
		}
	})
}
