package detect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// After a shared call that failed, all its accounts are tried alone: on one
// ticket, and beside each other whatever the slots.
func TestAccountsAloneKeepToTheBudget(t *testing.T) {
	for _, pace := range []Pace{PaceInterval, PaceBudget} {
		t.Run(fmt.Sprint(pace), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &batchWorld{world: newWorld()}
				b.answer = func([]fetcher.TimelineQuery, []fetcher.Page) ([]fetcher.Page, error) {
					return nil, errors.New("the batch endpoint is down")
				}
				b.setSlow(100 * time.Millisecond)
				d := batchDetector(t, b, func(c *Config) {
					c.Pace, c.FetchRate, c.FetchBurst, c.FetchSlots = pace, 1, 1, 2
				})
				begin := time.Now()
				defer start(t, d)()
				s := sub("m", accounts(40)...)
				s.Interval = 100 * time.Second
				set(t, d, s)
				after(5 * time.Minute)
				b.mu.Lock()
				defer b.mu.Unlock()
				calls := len(b.calls) + len(b.sizes)
				if allowed := int(time.Since(begin).Seconds()) + 2; calls > allowed {
					t.Errorf("%d calls in %v at 1 a second", calls, time.Since(begin))
				}
				if b.most > 2 {
					t.Errorf("%d calls under way at once, FetchSlots is 2", b.most)
				}
			})
		})
	}
}

// Accounts of a shared call that need more pages read on all at once.
func TestReadingOnKeepsToTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		d := batchDetector(t, b, func(c *Config) { c.FetchSlots = 1 })
		defer start(t, d)()
		set(t, d, sub("m", accounts(10)...))
		after(time.Second)
		for a := range 10 {
			for i := range 50 {
				b.publish(fmt.Sprintf("account%02d", a), fmt.Sprintf("a%d-%d", a, i), 0)
			}
		}
		if err := d.Remove(t.Context(), "m"); err != nil { // all due together
			t.Fatal(err)
		}
		s := sub("n", accounts(10)...)
		for i := range s.Accounts {
			s.Accounts[i].Since = time.Now().Add(-time.Minute)
		}
		b.setSlow(time.Second)
		set(t, d, s)
		after(30 * time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.most > 1 {
			t.Errorf("%d calls under way at once, FetchSlots is 1", b.most)
		}
	})
}

// A timeline whose pages never end, with a new cursor each: the gap is read on
// and on without a pause.
func TestEndlessGap(t *testing.T) {
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
		if calls > 60*10+5*fillPages+10 {
			t.Errorf("%d calls in 10 minutes for one account, of which some 600 are polls", calls)
		}
	})
}

// The platform asks to leave the account alone for 10 minutes; its gap is read.
func TestGapKeepsToRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var reported []Gap
		d := w.detector(t, twoPages(&reported))
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
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

// Twenty minutes in which the upstream is down, or refuses for being over a
// limit, make every open gap unreadable for ever.
func TestOutageGivesUpGaps(t *testing.T) {
	for name, fail := range map[string]error{
		"down":    errors.New("connection refused"),
		"limited": &fetcher.RateLimitError{RetryAfter: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				var reported []Gap
				d := w.detector(t, twoPages(&reported))
				stop := start(t, d)
				set(t, d, sub("m", "nasa"))
				w.afterPoll("nasa")
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
				after(24 * time.Hour)
				stop()
				if lost := missing(w, ids("m", "p", 0, 100)); len(lost) > 0 {
					t.Errorf("%d posts never read although the upstream came back after 40 minutes; recorded %+v", len(lost), w.cursors["account:nasa"].Gaps)
				}
			})
		})
	}
}

// One account that the platform refuses must not fail the others' calls again
// and again.
func TestOnePoisonInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		failed := 0
		b.answer = func(qs []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
			for _, q := range qs {
				if q.Username == "account05" {
					failed++
					return nil, errors.New("bad request")
				}
			}
			return pages, nil
		}
		b.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username == "account05" {
				return nil, errors.New("bad request")
			}
			return nil, nil
		})
		d := paced(t, b.world, 1, func(c *Config) { c.Fetcher = b })
		defer start(t, d)()
		set(t, d, bounded("m", 0, 0, accounts(10)...))
		after(2 * time.Hour)
		b.mu.Lock()
		defer b.mu.Unlock()
		if failed > 2 {
			t.Errorf("%d shared calls failed for the sake of one account in 2 hours", failed)
		}
	})
}

func TestRateUnderABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := paced(t, w, 1, nil)
		defer start(t, d)()
		set(t, d, bounded("m", 0, 0, "nasa"))
		for i := range 100 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Minute)
		}
		st, _, err := d.Account(t.Context(), "nasa")
		if err != nil || st.Rate < 1.0/600 {
			t.Errorf("rate %v %v, want about a post a minute", st.Rate, err)
		}
	})
}

func TestPlanForBudgetsWithShortIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		s := sub("m", "nasa")
		s.Interval = 500 * time.Millisecond
		set(t, d, s)
		if _, err := d.Plan(t.Context(), 5); err != nil {
			t.Error(err)
		}
	})
}

// A cursor of a megabyte is let go with the poll.
func TestBlankFlightsKeepNoCursors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			next := ""
			if q.Cursor == "" {
				next = strings.Repeat("x", 1<<20) + fmt.Sprint(n)
			}
			return &fetcher.Page{Next: next, Tweets: []fetcher.Tweet{{ID: fmt.Sprint(n), Username: q.Username, PublishedAt: time.Now()}}}, nil
		})
		d := w.detector(t, func(c *Config) { c.Shards = 1; c.MaxPages = 3 })
		defer start(t, d)()
		set(t, d, sub("m", accounts(3)...))
		after(15 * time.Second)
		kept := 0
		if err := d.ask(t.Context(), d.shards[0], func(sh *shard) {
			for _, f := range sh.blank {
				for _, c := range f.out.cursors[:cap(f.out.cursors)] {
					kept += len(c)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if kept > 1<<16 {
			t.Errorf("%d bytes of cursors are kept by flights that have ended", kept)
		}
	})
}

// A Fetcher that returns a nil *RateLimitError as an error: the usual mistake
// in Go.
func TestTypedNilError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			var rl *fetcher.RateLimitError
			return nil, rl
		})
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Minute)
	})
}

// Removing a monitor whose accounts each have their own Since.
func TestRemoveWithManyBeginnings(t *testing.T) {
	w := &world{posts: map[string][]post{}, underWay: map[string]int{}, cursors: map[string]Cursor{}}
	w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return &fetcher.Page{}, nil })
	took := func(n int) time.Duration {
		d := w.detector(t, func(c *Config) { c.Shards = 1 })
		done := make(chan error, 1)
		go func() { done <- d.Run(context.Background()) }()
		s := sub("m")
		s.Interval, s.Spread = 100*time.Hour, true
		base := time.Now().Add(-time.Hour)
		for i := range n {
			s.Accounts = append(s.Accounts, monitor.Account{Username: fmt.Sprint("a", i), Since: base.Add(time.Duration(i) * time.Millisecond)})
		}
		if err := d.Set(context.Background(), s); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := d.Remove(context.Background(), "m"); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begin)
		d.Stop()
		<-done
		return took
	}
	small, large := took(10_000), took(40_000)
	t.Log(small, large)
	if large > 8*small {
		t.Errorf("%v for 10,000 accounts and %v for four times as many: the shard does nothing else meanwhile", small, large)
	}
}

// Random life: several monitors that come, go, change and join while polls,
// commits and shared calls fail. Whoever stays gets every post once, and
// nothing is left under way.
func TestChurn(t *testing.T) {
	for seed := range 6 {
		for _, pace := range []Pace{PaceInterval, PaceBudget} {
			t.Run(fmt.Sprint(seed, pace), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { churn(t, uint64(seed), pace) })
			})
		}
	}
}
