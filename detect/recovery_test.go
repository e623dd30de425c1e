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

// An account with a stored cursor (watched before) is watched again by a
// new monitor. Its platform cuts stamps to the second (or to the millisecond).
// A post of the monitor's first second is taken for history and lost.
func TestLossColdTargetCutStamp(t *testing.T) {
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		t.Run(unit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				d := w.detector(t, nil)
				defer start(t, d)()
				set(t, d, sub("old", "nasa"))
				w.publish("nasa", "a", 0)
				after(time.Minute)
				if err := d.Remove(t.Context(), "old"); err != nil {
					t.Fatal(err)
				}
				after(time.Hour)
				// The new monitor's Since stands at 0.3 of the unit.
				now := time.Now()
				after(now.Truncate(unit).Add(unit + unit*3/10).Sub(now))
				s := sub("new", "nasa")
				after(unit / 10)
				w.publish("nasa", "b", 0) // after Since
				backdate(w, "nasa", "b", time.Now().Truncate(unit))
				set(t, d, s)
				after(5 * time.Minute)
				if got := w.got(); !slices.Contains(got, "new:b") {
					t.Errorf("events %v, want new:b: it was published %s after Since; stats %+v", got, unit/10, d.Stats())
				}
			})
		})
	}
}

// The first poll after a restart gets an empty page (the glitch that
// poll.go guards against). The window is empty then, so the guard is off: the
// cursor jumps over the outage, without a gap.
func TestLossEmptyPageAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		s := sub("m", "nasa")
		set(t, d, s)
		for i := range 25 {
			w.publish("nasa", fmt.Sprintf("old%d", i), 0)
			after(10 * time.Second)
		}
		stop()
		var want []string
		for i := range 40 { // two pages
			w.publish("nasa", fmt.Sprintf("new%d", i), 0)
			want = append(want, fmt.Sprintf("m:new%d", i))
			after(30 * time.Second)
		}
		after(10 * time.Minute)
		first := true
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
			if first {
				first = false
				return &fetcher.Page{}, nil
			}
			return nil, nil
		})
		d = w.detector(t, nil)
		s.Spread = true
		set(t, d, s)
		stop = start(t, d)
		after(10 * time.Minute)
		stop()
		got := w.got()
		missing := 0
		for _, id := range want {
			if !slices.Contains(got, id) {
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%d of %d posts of the outage were never detected, %d gaps recorded", missing, len(want), d.Stats().Gaps)
		}
	})
}

// A page with more than poll.MaxPageTweets posts and a Next: the excess is
// dropped, the paging goes on, the poll counts as complete: no gap.
func TestLossExcessWithNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setPageSize(1500)
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			q.Seen = nil // a Fetcher need not use it
			pg := w.timeline(q)
			return &pg, nil
		})
		d := w.detector(t, nil)
		defer start(t, d)()
		for i := range 20 {
			w.publish("nasa", fmt.Sprintf("base%d", i), 0)
		}
		after(time.Hour)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		after(time.Second)
		for i := range 1500 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		after(20 * time.Minute)
		s := d.Stats()
		if n := len(w.got()); n != 1500 && s.Gaps == 0 {
			t.Errorf("%d of 1500 posts detected, %d dropped, %d gaps: want all, or a gap that says so", n, s.DroppedExcess, s.Gaps)
		}
	})
}

// Invariant 1: a poll "stops only at two posts in a row older than that".
// A page of one post (short pages, or a platform's filter) with a backdated
// post ends the poll: what is behind it is lost, without a gap.
func TestLossBackdatedPostAloneOnItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setPageSize(1)
		d := w.detector(t, nil)
		defer start(t, d)()
		w.publish("nasa", "base0", 0)
		w.publish("nasa", "base1", 0)
		after(time.Hour)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		after(time.Second)
		w.publish("nasa", "new0", 0)
		w.publish("nasa", "imported", 0)
		w.publish("nasa", "new1", 0)
		backdate(w, "nasa", "imported", time.Now().Add(-24*365*time.Hour))
		after(20 * time.Minute)
		if got := w.got(); !slices.Contains(got, "m:new0") {
			t.Errorf("events %v, want m:new0; gaps %d", got, d.Stats().Gaps)
		}
	})
}

// The wall clock stands an hour ahead for a minute, is put right, and the
// process restarts before the next post. Everything published while it was
// down is before the stored cursor, and lost as history.
func TestLossClockAheadThenRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var ahead time.Duration
		now := func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return time.Now().Add(ahead)
		}
		tune := func(c *Config) { c.Now = now }
		d := w.detector(t, tune)
		stop := start(t, d)
		s := sub("m", "nasa")
		set(t, d, s)
		w.publish("nasa", "a", 0)
		after(time.Minute)
		w.do(func() { ahead = time.Hour })
		after(time.Minute)
		w.do(func() { ahead = 0 })
		after(20 * time.Minute) // many complete polls with the right time
		stop()
		w.publish("nasa", "b", 0)
		after(2 * time.Minute)
		d = w.detector(t, tune)
		set(t, d, s)
		stop = start(t, d)
		after(3 * time.Hour)
		stop()
		if got := w.got(); !slices.Contains(got, "m:b") {
			t.Errorf("events %v, want m:b; cursor %v, stats %+v", got, w.cursors, d.Stats())
		}
	})
}

// The host's clock is ahead of the platform's by more than the overlap:
// every post is older than the cutoff, each poll ends with its first page, and
// of a burst all but a page is lost without a gap.
func TestLossClockAheadOfThePlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *Config) {
			c.Now = func() time.Time { return time.Now().Add(4 * time.Minute) }
		})
		defer start(t, d)()
		w.do(func() { w.dated = true })
		for i := range 30 {
			w.publish("nasa", fmt.Sprintf("base%d", i), 0)
		}
		s := sub("m", "nasa")
		s.Accounts[0].Since = time.Now().Add(4 * time.Minute) // stamped by our clock
		set(t, d, s)
		after(time.Minute)
		for i := range 50 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		after(30 * time.Minute)
		n := 0
		for _, id := range ids("m", "p", 0, 50) {
			if slices.Contains(w.got(), id) {
				n++
			}
		}
		if n != 50 && d.Stats().Gaps == 0 {
			t.Errorf("%d of 50 posts detected, no gap", n)
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

// A soft stop waits for a poll that itself waits for a rate limit between
// two pages: up to 15 minutes.
func TestSoftStopDuringRateLimitBetweenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setPageSize(5)
		d := w.detector(t, nil)
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		for i := range 12 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			pg := w.timeline(q)
			pg.RateLimit = fetcher.RateLimit{Known: true, Limit: 1, Reset: time.Now().Add(10 * time.Minute)}
			return &pg, nil
		})
		w.afterPoll("nasa")
		after(time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("a soft stop took %s; no call was under way", took)
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
		d := w.detector(t, func(c *Config) { c.Fetcher = p })
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
		after(365 * 24 * time.Hour)
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

// A poll whose pages repeat what is known needs the page cap each time:
// a gap is recorded and reported at every poll, although nothing is missing.
func TestBusyAccountDoesNotReportAGapEveryPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		for i := range 30 {
			w.publish("nasa", fmt.Sprintf("base%d", i), 0)
		}
		after(time.Hour)
		set(t, d, sub("m", "nasa"))
		for i := range 600 { // two posts a second for five minutes
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(500 * time.Millisecond)
		}
		after(20 * time.Second)
		if n := len(w.got()); n != 600 || d.Stats().Gaps > 0 {
			t.Errorf("%d of 600 detected, %d gaps reported", n, d.Stats().Gaps)
		}
	})
}

// One page that can not be read (an answer that is malformed each time)
// stands between the newest page and the cutoff: the poll fails for ever, the
// account rests for minutes between polls, and no gap says so.
func TestUnreadablePageBecomesAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		s := sub("m", "nasa")
		set(t, d, s)
		w.publish("nasa", "a", 0)
		after(time.Minute)
		stop()
		for i := range 30 { // an outage of two pages
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Minute)
		}
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Cursor != "" {
				return nil, fmt.Errorf("x: %w", fetcher.ErrMalformed)
			}
			return nil, nil
		})
		d = w.detector(t, nil)
		set(t, d, s)
		defer start(t, d)()
		after(24 * time.Hour)
		w.publish("nasa", "today", 0)
		after(time.Minute)
		if got := w.got(); !slices.Contains(got, "m:today") || d.Stats().Gaps == 0 {
			t.Errorf("a day later: a new post is found within a minute of a 10 s interval: %v; gaps reported: %d; poll errors %d",
				slices.Contains(got, "m:today"), d.Stats().Gaps, d.Stats().PollErrors)
		}
	})
}

// The journal fails for ten minutes. When it is back, each account rests
// for up to five minutes more: the upstream's backoff is used for the store.
func TestJournalOutageIsNotTheAccountsFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(15 * time.Second)
		w.setCommitErr(func([]*Batch) error { return fmt.Errorf("store is down") })
		w.publish("nasa", "a", 0)
		after(10 * time.Minute)
		w.setCommitErr(nil)
		began := time.Now()
		for len(w.got()) == 0 {
			after(time.Second)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the post was committed %s after the journal came back; the interval is 10 s", took)
		}
	})
}
