package detect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/fetcher"
)

// burst lets an account post more than a poll of two pages can read.
func burst(w *world) {
	for i := range 100 {
		w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		after(10 * time.Millisecond)
	}
}

// pollAfter is when an account is polled next after t, at this interval.
func pollAfter(account string, t time.Time, interval time.Duration) time.Time {
	return time.Unix(0, schedule.GridAfter(t.UnixNano(), accounts.HashName(account), interval))
}

// swell publishes 45 posts a tenth of a second apart and then 40 in half a
// second, up to the account's next poll: a poll of two pages reads the latter.
func swell(w *world, interval time.Duration) (want []string) {
	next := pollAfter("nasa", time.Now().Add(6*time.Second), interval)
	after(time.Until(next.Add(-5200 * time.Millisecond)))
	for i := range 45 {
		w.publish("nasa", fmt.Sprintf("a%d", i), 0)
		after(100 * time.Millisecond)
	}
	for i := range 40 {
		w.publish("nasa", fmt.Sprintf("b%d", i), 0)
		after(12 * time.Millisecond)
	}
	return append(ids("m", "a", 0, 45), ids("m", "b", 0, 40)...)
}

func twoPages(reported *[]Gap) func(*settings) {
	return func(c *settings) {
		c.MaxPages = 2
		c.Overlap = time.Second
		c.OnGap = func(g Gap) { *reported = append(*reported, g) }
	}
}

// gapWorld has nasa polled once by a detector with polls of two pages.
func gapWorld(t *testing.T, reported *[]Gap) (w *world, d *Detector, stop func()) {
	t.Helper()
	w = newWorld()
	d = w.detector(t, twoPages(reported))
	stop = start(t, d)
	set(t, d, sub("m", "nasa"))
	w.afterPoll("nasa")
	return w, d, stop
}

func TestGapIsRecordedReportedAndReadLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []Gap
		w, d, stop := gapWorld(t, &reported)
		burst(w)
		after(20 * time.Second)
		stop()
		if got := len(w.events); got != 100 {
			t.Errorf("%d events, want all 100 posts: the gap is read on from where the poll stopped", got)
		}
		if len(reported) != 2 || !reported[0].FilledAt.IsZero() || reported[1].FilledAt.IsZero() {
			t.Fatalf("reported %v, want the gap, and that it was read", reported)
		}
		lost := w.posts["nasa"][59].tweet.PublishedAt
		if g := reported[0]; lost.Before(g.From) || lost.After(g.To) {
			t.Errorf("gap %v does not cover the unread post of %v", g, lost)
		}
		if gaps := w.cursors["account:nasa"].Gaps; len(gaps) != 0 {
			t.Errorf("recorded %v, want no gap any more", gaps)
		}
		if s := d.Stats(); s.Gaps != 1 || s.Filled != 1 || s.Late != 0 {
			t.Errorf("%d gaps, %d filled, %d late: want 1, 1, and reading a gap says nothing of late posts", s.Gaps, s.Filled, s.Late)
		}
	})
}

// A soft stop waits until the polls under way are committed, and what they left is told.
func TestStopDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []Gap
		w, d, stop := gapWorld(t, &reported)
		burst(w)
		w.setSlowStore(20 * time.Second)
		w.afterPoll("nasa")
		after(time.Second)
		stop()
		if len(reported) != 1 || d.Stats().Events != 40 {
			t.Errorf("%d events, gaps %v: want those of a poll, and its gap", d.Stats().Events, reported)
		}
	})
}

// forgetful refuses the cursors of pages that a poll did not come to.
func forgetful(first string, refused *int) func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
	return func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
		if q.Cursor == first {
			*refused++
			return nil, errors.New("cursor has expired")
		}
		return nil, nil
	}
}

func TestGapThatCanNotBeReadStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []Gap
		refused := 0
		w, d, stop := gapWorld(t, &reported)
		w.setBefore(forgetful("p60", &refused))
		burst(w)
		after(3 * time.Hour)
		stop()
		wantEvents(t, w, ids("m", "p", 60, 100)...)
		gaps := w.cursors["account:nasa"].Gaps
		if len(reported) != 1 || len(gaps) != 1 || !gaps[0].To.Equal(reported[0].To) || gaps[0].Resume != "" {
			t.Fatalf("reported %v, recorded %+v: want the same one gap, given up", reported, gaps)
		}
		if refused != poll.MaxFills {
			t.Errorf("%d tries, want %d", refused, poll.MaxFills)
		}
		st, ok, err := d.Account(t.Context(), "NASA")
		if err == nil || ok {
			t.Errorf("status %v %v after the end, want an error", st, ok)
		}
	})
}

// A gap's pages wait for polls that are due, and are not forgotten for them.
func TestGapIsReadBesidePollsThatLeaveNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var reported []Gap
		d := w.detector(t, func(c *settings) {
			twoPages(&reported)(c)
			c.FetchRate, c.FetchBurst = 2, 1
		})
		stop := start(t, d)
		names := []string{"nasa"}
		for i := range 100 { // at 10 s these ask for ten calls a second
			names = append(names, fmt.Sprintf("quiet%d", i))
		}
		set(t, d, sub("m", names...))
		w.afterPoll("nasa")
		burst(w)
		after(10 * time.Minute)
		stop()
		if len(reported) != 2 || len(w.events) != 100 {
			t.Errorf("%d events, reported %v: want the gap read within minutes", len(w.events), reported)
		}
	})
}

// A commit that fails must not close a gap, nor lose what was in it.
func TestGapStaysWhenItsCommitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []Gap
		w, _, stop := gapWorld(t, &reported)
		fails := 3
		w.setCommitErr(func(bs []*Batch) error {
			for _, b := range bs {
				for _, ev := range b.Events {
					if ev.TweetID == "p30" && fails > 0 {
						fails--
						return context.DeadlineExceeded
					}
				}
			}
			return nil
		})
		burst(w)
		after(20 * time.Minute)
		stop()
		if fails != 0 || len(w.events) != 100 || len(reported) != 2 {
			t.Errorf("%d events, %d failures left, reported %v: want all 100 after the failures", len(w.events), fails, reported)
		}
	})
}

// Reading one gap does not count posts of another as delivered: each brings its
// own.
func TestGapsThatOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []Gap
		w, d, stop := gapWorld(t, &reported)
		want := swell(w, 10*time.Second)
		failed := false
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Cursor == "b0" && !failed { // the first reading of the first gap
				failed = true
				return nil, errors.New("502")
			}
			return nil, nil
		})
		w.afterPoll("nasa")
		after(2 * time.Second)
		for i := range 60 {
			w.publish("nasa", fmt.Sprintf("c%d", i), 0)
			after(10 * time.Millisecond)
		}
		want = append(want, ids("m", "c", 0, 60)...)
		after(20 * time.Minute)
		stop()
		if s := d.Stats(); !failed || s.Gaps < 2 {
			t.Fatalf("%d gaps, reading failed %v: want two gaps open at once", s.Gaps, failed)
		}
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps, %d filled, still recorded %v", len(lost), lost, d.Stats().Gaps, d.Stats().Filled, w.cursors["account:nasa"].Gaps)
		}
	})
}

// A gap's posts reach a monitor that joined meanwhile, also those that the
// others know already.
func TestGapReachesAMonitorThatJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *settings) { c.MaxPages = 2 })
		stop := start(t, d)
		set(t, d, sub("a", "nasa"))
		w.afterPoll("nasa")
		b := sub("b", "nasa")
		var want []string
		after(time.Millisecond)
		for i := range 15 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Millisecond)
			want = append(want, fmt.Sprintf("a:p%d", i), fmt.Sprintf("b:p%d", i))
		}
		w.afterPoll("nasa")
		after(time.Second)
		for i := range 45 {
			w.publish("nasa", fmt.Sprintf("q%d", i), 0)
			after(time.Millisecond)
			want = append(want, fmt.Sprintf("a:q%d", i), fmt.Sprintf("b:q%d", i))
		}
		set(t, d, b)
		after(20 * time.Minute)
		stop()
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps, %d filled", len(lost), lost, d.Stats().Gaps, d.Stats().Filled)
		}
	})
}

// A timeline whose pages never end, with a new cursor each, takes no more calls
// than polls and the tries of a gap.
func TestGapWithoutAnEndTakesFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		stuck := fetcher.Tweet{ID: "x", Username: "nasa", PublishedAt: time.Now().Add(time.Second)}
		n := 0
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			n++
			return &fetcher.Page{Tweets: []fetcher.Tweet{stuck}, Next: fmt.Sprint("c", n)}, nil
		})
		w.setSlow(100 * time.Millisecond)
		d := w.detector(t, nil)
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		after(10 * time.Minute)
		calls := len(w.calls)
		stop()
		// 60 polls of 10 pages are 600 calls.
		if calls > 60*10+5*poll.FillPages+10 {
			t.Errorf("%d calls in 10 minutes for one account, of which some 600 are polls", calls)
		}
	})
}

// An account that is to be left alone is left alone: its gap waits, too.
func TestGapKeepsToRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []Gap
		w, _, stop := gapWorld(t, &reported)
		after(time.Second)
		limited := false
		var from time.Time
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case q.Cursor == "p60" && !limited: // reading the gap fails once
				return nil, errors.New("502")
			case q.Cursor == "" && len(reported) > 0 && !limited: // the next poll
				limited, from = true, time.Now()
				return nil, &fetcher.RateLimitError{RetryAfter: 10 * time.Minute, Target: true}
			}
			return nil, nil
		})
		burst(w)
		after(20 * time.Minute)
		stop()
		if !limited {
			t.Fatal("not limited")
		}
		for _, c := range w.calls {
			if wait := c.at.Sub(from); wait > 0 && wait < 10*time.Minute {
				t.Errorf("called with cursor %q %v after an answer that asked for 10 minutes", c.cursor, wait)
			}
		}
	})
}

// Tries that fail because nothing is answered at all, or because of a limit, do
// not count: the gap is read when the upstream is back.
func TestGapOutlastsAnOutage(t *testing.T) {
	for name, fail := range map[string]error{
		"down":    errors.New("connection refused"),
		"limited": &fetcher.RateLimitError{RetryAfter: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reported []Gap
				w, _, stop := gapWorld(t, &reported)
				down := time.Time{}
				w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
					w.mu.Lock()
					defer w.mu.Unlock()
					if q.Cursor == "p60" && down.IsZero() {
						down = time.Now()
					}
					if !down.IsZero() && time.Since(down) < 40*time.Minute {
						return nil, fail
					}
					return nil, nil
				})
				burst(w)
				after(3 * time.Hour)
				stop()
				if lost := missing(w, ids("m", "p", 0, 100)); len(lost) > 0 {
					t.Errorf("%d posts never read although the upstream came back after 40 minutes; recorded %+v", len(lost), w.cursors["account:nasa"].Gaps)
				}
			})
		})
	}
}
