package detect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// burst lets an account post more than a poll of two pages can read.
func burst(w *world) {
	for i := range 100 {
		w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		after(10 * time.Millisecond)
	}
}

func twoPages(reported *[]Gap) func(*Config) {
	return func(c *Config) {
		c.MaxPages = 2
		c.Overlap = time.Second
		c.OnGap = func(g Gap) { *reported = append(*reported, g) }
	}
}

func TestGapIsRecordedReportedAndReadLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var reported []Gap
		d := w.detector(t, twoPages(&reported))
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
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
		w := newWorld()
		var reported []Gap
		refused := 0
		d := w.detector(t, twoPages(&reported))
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		w.setBefore(forgetful("p60", &refused))
		burst(w)
		after(3 * time.Hour)
		stop()
		wantEvents(t, w, ids("m", "p", 60, 100)...)
		gaps := w.cursors["account:nasa"].Gaps
		if len(reported) != 1 || len(gaps) != 1 || !gaps[0].To.Equal(reported[0].To) || gaps[0].Resume != "" {
			t.Fatalf("reported %v, recorded %+v: want the same one gap, given up", reported, gaps)
		}
		if refused != maxFills {
			t.Errorf("%d tries, want %d", refused, maxFills)
		}
		st, ok, err := d.Account(t.Context(), "NASA")
		if err == nil || ok {
			t.Errorf("status %v %v after the end, want an error", st, ok)
		}
	})
}

func TestGapIsReadAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var reported []Gap
		refused := 0
		d := w.detector(t, twoPages(&reported))
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		w.setBefore(forgetful("p60", &refused)) // as long as this process lives
		burst(w)
		after(12 * time.Second)
		stop()
		wantEvents(t, w, ids("m", "p", 60, 100)...)

		w.setBefore(nil)
		d = w.detector(t, twoPages(&reported))
		stop = start(t, d)
		again := sub("m", "nasa")
		again.Accounts[0].Since = w.posts["nasa"][0].tweet.PublishedAt.Add(-time.Second)
		set(t, d, again)
		after(5 * time.Minute)
		stop()
		if got := len(w.events); got != 100 {
			t.Errorf("%d events, want all 100 posts", got)
		}
		if gaps := w.cursors["account:nasa"].Gaps; len(gaps) != 0 || len(reported) != 2 {
			t.Errorf("recorded %v, reported %v: want it read", gaps, reported)
		}
	})
}

// A gap's pages wait for polls that are due, and are not forgotten for them.
func TestGapIsReadBesidePollsThatLeaveNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var reported []Gap
		d := w.detector(t, func(c *Config) {
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
		w := newWorld()
		var reported []Gap
		d := w.detector(t, twoPages(&reported))
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
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
