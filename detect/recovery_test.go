package detect

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func backdate(w *world, account, id string, at time.Time) {
	w.do(func() {
		for i := range w.posts[account] {
			if w.posts[account][i].tweet.ID == id {
				w.posts[account][i].tweet.PublishedAt = at
			}
		}
	})
}

// Set drops an account while a commit with its events is under way; Remove
// then returns before that commit.
func TestRemoveAfterSetDroppedTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa", "esa"))
		after(15 * time.Second)
		w.setSlowStore(20 * time.Second)
		w.publish("nasa", "a", 0)
		w.afterPoll("nasa")
		after(time.Second) // the commit is under way
		if n := len(w.got()); n != 0 {
			t.Fatalf("set-up: %d events", n)
		}
		set(t, d, sub("m", "esa"))
		if err := d.Remove(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		before := len(w.got())
		after(time.Minute)
		if n := len(w.got()); n != before {
			t.Errorf("%d events committed after Remove returned", n-before)
		}
	})
}

// byID is a platform whose accounts have ids; handles can be given to others.
type byID struct {
	*world
	handles map[string]string // handle → user id
}

func (p byID) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	id := q.UserID
	if id == "" {
		id = p.handles[q.Username]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pg := fetcher.Page{UserID: id}
	for _, ps := range slices.Backward(p.posts[id]) {
		pg.Tweets = append(pg.Tweets, ps.tweet)
	}
	if len(pg.Tweets) == 0 && p.posts[id] == nil {
		return pg, fetcher.ErrNotFound
	}
	return pg, nil
}

// A handle is given to somebody else, and a new monitor is made for it: the
// id in the cursor of a monitor deleted long ago decides who is watched.
func TestNewMonitorWatchesTheHandlesFormerOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := byID{w, map[string]string{"bob": "1"}}
		d := w.detector(t, func(c *settings) { c.Fetcher = p })
		defer start(t, d)()
		post := func(id, tweet string) {
			w.publish(id, tweet, 0)
			w.do(func() {
				ps := w.posts[id]
				ps[len(ps)-1].tweet.UserID, ps[len(ps)-1].tweet.Username = id, "bob"
			})
		}
		set(t, d, sub("old", "bob"))
		post("1", "a")
		after(time.Minute)
		if err := d.Remove(t.Context(), "old"); err != nil {
			t.Fatal(err)
		}
		after(60 * 24 * time.Hour)
		w.do(func() { p.handles["bob"], p.handles["bobby"] = "2", "1" })
		set(t, d, sub("new", "bob"))
		after(time.Second)
		post("2", "b")
		post("1", "c")
		after(time.Minute)
		wantEvents(t, w, "old:a", "new:b")
	})
}

// Each monitor that joins polls an account at once that the upstream told
// to leave alone.
func TestJoiningMonitorDoesNotBreakRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
			return nil, &fetcher.RateLimitError{RetryAfter: 10 * time.Minute, Target: true}
		})
		set(t, d, sub("m0", "nasa"))
		after(time.Second)
		for i := range 5 {
			set(t, d, sub(fmt.Sprintf("m%d", i+1), "nasa"))
			after(10 * time.Second)
		}
		if n := len(w.callTimes("nasa")); n != 1 {
			t.Errorf("%d calls within a minute of a RetryAfter of 10 minutes, want 1", n)
		}
	})
}
