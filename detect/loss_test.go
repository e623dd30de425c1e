package detect

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// missing lists which of the wanted "source:post" never came.
func missing(w *world, want []string) (lost []string) {
	got := w.got()
	for _, id := range want {
		if !slices.Contains(got, id) {
			lost = append(lost, id)
		}
	}
	return lost
}

// What a poll read before it broke off does not count as known to the next one:
// that reads on to what was never read.
func TestBrokenPollDoesNotVouchForWhatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *settings) { c.MaxPages = 3 })
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		after(time.Second)
		for i := range 60 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Millisecond)
		}
		failed := false
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			if q.Cursor == "p20" && !failed { // the third page
				failed = true
				for i := range 20 {
					w.publish("nasa", fmt.Sprintf("q%d", i), 0)
				}
				return nil, errors.New("502")
			}
			return nil, nil
		})
		after(10 * time.Minute)
		stop()
		if !failed {
			t.Fatal("nothing failed")
		}
		lost := missing(w, append(ids("m", "p", 0, 60), ids("m", "q", 0, 20)...))
		if len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps, since moved to %v", len(lost), lost, d.Stats().Gaps, w.cursors["account:nasa"].Since)
		}
	})
}

// A last page under the cap that is known to the others does not end the first
// poll for a monitor that joined.
func TestKnownPageDoesNotVouchForAMonitorThatJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *settings) { c.MaxPages = 2 })
		stop := start(t, d)
		set(t, d, sub("a", "nasa"))
		w.afterPoll("nasa")
		b := sub("b", "nasa")
		var want []string
		for i := range 60 {
			after(time.Second)
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			want = append(want, fmt.Sprintf("a:p%d", i), fmt.Sprintf("b:p%d", i))
		}
		w.afterPoll("nasa")
		set(t, d, b)
		after(20 * time.Minute)
		stop()
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps, %d filled", len(lost), lost, d.Stats().Gaps, d.Stats().Filled)
		}
	})
}

// One answer that says it is an hour later does not move the cursor beyond what
// was read.
func TestWrongServerTimeDoesNotMoveTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		slow := sub("m", "nasa")
		slow.Interval = 10 * time.Minute // more than the overlap
		set(t, d, slow)
		w.afterPoll("nasa")
		wrong := true
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			pg := w.timeline(q)
			pg.ServerTime = time.Now()
			if wrong {
				wrong, pg.ServerTime = false, time.Now().Add(time.Hour)
			}
			return &pg, nil
		})
		w.afterPoll("nasa")
		after(time.Second)
		for i := range 60 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		after(2 * time.Hour)
		stop()
		if lost := missing(w, ids("m", "p", 0, 60)); len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps", len(lost), lost, d.Stats().Gaps)
		}
	})
}

// Nor does it make history of what was published since the monitor began.
func TestWrongServerTimeMakesNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		wrong := true
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			pg := w.timeline(q)
			pg.ServerTime = time.Now()
			if wrong {
				wrong, pg.ServerTime = false, time.Now().Add(time.Hour)
			}
			return &pg, nil
		})
		w.publish("nasa", "p0", 0)
		after(20 * time.Minute)
		stop()
		if lost := missing(w, ids("m", "p", 0, 1)); len(lost) > 0 {
			t.Errorf("lost %v, %d counted as baseline", lost, d.Stats().Baseline)
		}
	})
}

// A monitor without a beginning gets everything, also beside one that begins
// now.
func TestMonitorWithoutABeginningGetsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 50 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Second)
		}
		d := w.detector(t, nil)
		a, b := sub("a", "nasa"), sub("b", "nasa")
		a.Accounts[0].Since = time.Time{}
		set(t, d, a)
		set(t, d, b)
		stop := start(t, d)
		after(time.Minute)
		stop()
		if lost := missing(w, ids("a", "p", 0, 50)); len(lost) > 0 {
			t.Errorf("lost %d posts", len(lost))
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
		after(5 * time.Minute)
		s := d.Stats()
		if n := len(w.got()); n != 1500 && s.Gaps == 0 {
			t.Errorf("%d of 1500 posts detected, %d dropped, %d gaps: want all, or a gap that says so", n, s.Dropped.Excess, s.Gaps)
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
		tune := func(c *settings) { c.Now = now }
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
		d := w.detector(t, func(c *settings) {
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
