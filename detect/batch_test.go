package detect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// batchWorld reads several timelines in one call.
type batchWorld struct {
	*world
	sizes []int
	// answer may replace the pages.
	answer func(qs []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error)
}

func (b *batchWorld) BatchLimit() int { return 10 }

func (b *batchWorld) Timelines(_ context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pages := make([]fetcher.Page, len(qs))
	for i, q := range qs {
		pages[i] = b.timeline(q)
	}
	b.mu.Lock()
	b.sizes = append(b.sizes, len(qs))
	b.mu.Unlock()
	if b.answer != nil {
		return b.answer(qs, pages)
	}
	return pages, nil
}

func accountNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("account%02d", i)
	}
	return names
}

func batchDetector(t *testing.T, b *batchWorld, tune func(*settings)) *Detector {
	return b.detector(t, func(c *settings) {
		c.Fetcher, c.Shards = b, 1
		if tune != nil {
			tune(c)
		}
	})
}

func TestAccountsDueTogetherShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		d := batchDetector(t, b, nil)
		defer start(t, d)()
		set(t, d, sub("m", accountNames(40)...))
		after(time.Millisecond)
		b.mu.Lock()
		first := len(b.sizes)
		b.mu.Unlock()
		if first != 4 {
			t.Errorf("%d calls for 40 accounts that are all due, want 4 of 10", first)
		}
		for i := range 40 {
			b.publish(fmt.Sprintf("account%02d", i), fmt.Sprintf("p%d", i), 0)
		}
		after(100 * time.Second)
		if got := len(b.events); got != 40 {
			t.Errorf("%d events, want 40", got)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		// Over 10 s 40 accounts are due one by one; within a second, a tenth of
		// the interval, four or so.
		if calls := len(b.sizes) - first + len(b.calls); calls > 140 {
			t.Errorf("%d calls for about 400 polls, want those due within a second in one", calls)
		}
	})
}

func TestBatchSizeOneIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		d := batchDetector(t, b, func(c *settings) { c.BatchSize = 1 })
		defer start(t, d)()
		set(t, d, sub("m", accountNames(5)...))
		after(time.Millisecond)
		if len(b.sizes) != 0 || len(b.calls) != 5 {
			t.Errorf("calls of %v accounts and %d of one, want 5 of one", b.sizes, len(b.calls))
		}
	})
}

func TestMorePagesAreReadAloneAndNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		d := batchDetector(t, b, nil)
		defer start(t, d)()
		set(t, d, sub("m", accountNames(2)...))
		after(time.Second)
		for i := range 50 {
			b.publish("account00", fmt.Sprintf("a%d", i), 0)
		}
		b.publish("account01", "b", 0)
		b.setSlow(3 * time.Second) // the pages read alone
		after(30 * time.Second)
		if got := len(b.events); got != 51 {
			t.Fatalf("%d events, want 51", got)
		}
		quick := b.events[deliver.EventID("m", "b")]
		for _, ev := range b.order {
			if ev.TweetID == "a0" && !quick.DetectedAt.Before(ev.DetectedAt) {
				t.Errorf("the other account's post was found at %v, not before %v, when the last page had come", quick.DetectedAt, ev.DetectedAt)
			}
		}
	})
}

// A Fetcher may keep the pages that it gives.
func TestAnswerOfABatchIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		type answer struct{ given, then []fetcher.Page }
		var kept []answer
		long := errors.New(strings.Repeat("x", 100_000))
		b.answer = func(qs []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
			for i, q := range qs {
				if q.Username == "account01" {
					pages[i] = fetcher.Page{Err: long}
				}
			}
			kept = append(kept, answer{pages, slices.Clone(pages)})
			return pages, nil
		}
		d := batchDetector(t, b, nil)
		stop := start(t, d)
		set(t, d, sub("m", accountNames(2)...))
		after(time.Second)
		for i := range 50 { // several pages
			b.publish("account00", fmt.Sprintf("a%d", i), 0)
		}
		after(30 * time.Second)
		stop()
		if len(b.events) != 50 {
			t.Errorf("%d events, want 50", len(b.events))
		}
		for _, k := range kept {
			for i := range k.given {
				if got, want := &k.given[i], &k.then[i]; got.Next != want.Next || len(got.Tweets) != len(want.Tweets) || got.Err != want.Err {
					t.Fatalf("a page is %d posts, Next %q, error %.40v; was given as %d, %q, %.40v", len(got.Tweets), got.Next, got.Err, len(want.Tweets), want.Next, want.Err)
				}
			}
		}
	})
}

// A call that fails for the sake of one account must not fail all for ever.
func TestAccountsOfAFailedBatchAreTriedAlone(t *testing.T) {
	for name, answer := range map[string]func([]fetcher.TimelineQuery, []fetcher.Page) ([]fetcher.Page, error){
		"error": func([]fetcher.TimelineQuery, []fetcher.Page) ([]fetcher.Page, error) {
			return nil, errors.New("bad request")
		},
		"too few pages": func(_ []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) { return pages[1:], nil },
		"panic":         func([]fetcher.TimelineQuery, []fetcher.Page) ([]fetcher.Page, error) { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &batchWorld{world: newWorld()}
				poison := false
				b.answer = func(qs []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
					if poison {
						return answer(qs, pages)
					}
					return pages, nil
				}
				d := batchDetector(t, b, nil)
				defer start(t, d)()
				set(t, d, sub("m", accountNames(3)...))
				after(time.Second)
				b.do(func() { poison = true })
				for i := range 3 {
					b.publish(fmt.Sprintf("account%02d", i), fmt.Sprintf("p%d", i), 0)
				}
				after(40 * time.Second)
				if len(b.events) != 3 {
					t.Errorf("%d events, want 3: each account read alone", len(b.events))
				}
			})
		})
	}
}

// Accounts that are tried alone after a shared call take a call of the budget
// each, and a slot.
func TestAccountsOfAFailedBatchKeepToRateAndSlots(t *testing.T) {
	for _, pace := range []Pace{PaceInterval, PaceBudget} {
		t.Run(fmt.Sprint(pace), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &batchWorld{world: newWorld()}
				b.answer = func([]fetcher.TimelineQuery, []fetcher.Page) ([]fetcher.Page, error) {
					return nil, errors.New("the batch endpoint is down")
				}
				b.setSlow(100 * time.Millisecond)
				d := batchDetector(t, b, func(c *settings) {
					c.Pace, c.FetchRate, c.FetchBurst, c.FetchSlots = pace, 1, 1, 2
				})
				begin := time.Now()
				defer start(t, d)()
				s := sub("m", accountNames(40)...)
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

// Accounts of a shared call that have more pages are read on within FetchSlots.
func TestReadingOnKeepsToTheSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		d := batchDetector(t, b, func(c *settings) { c.FetchSlots = 1 })
		defer start(t, d)()
		set(t, d, sub("m", accountNames(10)...))
		after(time.Second)
		for a := range 10 {
			for i := range 50 {
				b.publish(fmt.Sprintf("account%02d", a), fmt.Sprintf("a%d-%d", a, i), 0)
			}
		}
		if err := d.Remove(t.Context(), "m"); err != nil { // all due together
			t.Fatal(err)
		}
		s := sub("n", accountNames(10)...)
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

// An account for whose sake shared calls fail is polled alone from then on.
func TestRefusedAccountIsKeptOutOfSharedCalls(t *testing.T) {
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
		d := paced(t, b.world, 1, func(c *settings) { c.Fetcher = b })
		defer start(t, d)()
		set(t, d, bounded("m", 0, 0, accountNames(10)...))
		after(2 * time.Hour)
		b.mu.Lock()
		defer b.mu.Unlock()
		if failed > 2 {
			t.Errorf("%d shared calls failed for the sake of one account in 2 hours", failed)
		}
	})
}
