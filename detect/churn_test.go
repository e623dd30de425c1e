package detect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

// Several monitors come, go, change and join while polls, commits and shared
// calls fail. Whoever stays gets every post once, and nothing is left under way.
func TestChurn(t *testing.T) {
	for seed := range 3 {
		for _, pace := range []Pace{PaceInterval, PaceBudget} {
			t.Run(fmt.Sprint(seed, pace), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { churn(t, uint64(seed), pace) })
			})
		}
	}
}

func churn(t *testing.T, seed uint64, pace Pace) {
	rng := rand.New(rand.NewPCG(seed, 7))
	b := &batchWorld{world: newWorld()}
	b.setSlow(30 * time.Millisecond)
	b.setSlowStore(20 * time.Millisecond)
	frng := rand.New(rand.NewPCG(seed, 9))
	fails := true
	chance := func(of int) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return fails && frng.IntN(of) == 0
	}
	b.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
		if chance(10) {
			return nil, errors.New("502")
		}
		if chance(40) {
			panic("no")
		}
		if chance(40) {
			return nil, &fetcher.RateLimitError{RetryAfter: 3 * time.Second, Target: true}
		}
		return nil, nil
	})
	b.answer = func(qs []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
		if chance(10) {
			return nil, errors.New("502")
		}
		for i := range pages {
			if chance(20) {
				pages[i] = fetcher.Page{Err: errors.New("one")}
			}
		}
		return pages, nil
	}
	b.setCommitErr(func(bs []*Batch) error { // under the lock
		if fails && frng.IntN(10) == 0 {
			if frng.IntN(2) == 0 {
				return &BatchError{Batch: bs[frng.IntN(len(bs))], Err: errors.New("refused")}
			}
			return errors.New("disk")
		}
		return nil
	})
	d := batchDetector(t, b, func(c *settings) {
		c.Pace = pace
		c.FetchRate, c.FetchBurst = 200, 1
		c.FetchSlots = 4
		c.Backoff.Max = 20 * time.Second
	})
	stop := start(t, d)
	names := accountNames(12)
	keep := bounded("keep", 10*time.Second, 0, names[:8]...)
	set(t, d, keep)
	var want []string
	n := 0
	for range testsize.Of(200, 600, 1500) {
		after(time.Duration(rng.IntN(200)) * time.Millisecond)
		switch rng.IntN(6) {
		case 0:
			src := fmt.Sprint("s", rng.IntN(3))
			from := rng.IntN(8)
			s := bounded(src, 10*time.Second, float64(rng.IntN(3)), names[from:from+rng.IntN(12-from)]...)
			set(t, d, s)
		case 1:
			if err := d.Remove(t.Context(), fmt.Sprint("s", rng.IntN(3))); err != nil {
				t.Fatal(err)
			}
		case 2:
			if _, _, err := d.Account(t.Context(), names[rng.IntN(12)]); err != nil {
				t.Fatal(err)
			}
		case 3:
			if rng.IntN(20) == 0 { // the one that stays is removed and set again, with its old beginning
				if err := d.Remove(t.Context(), "keep"); err != nil {
					t.Fatal(err)
				}
				set(t, d, keep)
			}
		default:
			a := rng.IntN(12)
			id := fmt.Sprintf("p%d", n)
			n++
			b.publish(names[a], id, time.Duration(rng.IntN(5))*time.Second)
			if a < 8 {
				want = append(want, "keep:"+id)
			}
		}
	}
	b.do(func() { fails = false })
	after(3 * time.Minute)
	if lost := missing(b.world, want); len(lost) > 0 {
		t.Errorf("lost %d of %d: %v", len(lost), len(want), lost)
	}
	for _, src := range []string{"s0", "s1", "s2"} {
		if err := d.Remove(t.Context(), src); err != nil {
			t.Fatal(err)
		}
	}
	after(time.Minute)
	err := d.shards[0].Ask(t.Context(), func(sh *shards.Shard) {
		if calls, polls := sh.UnderWay(); calls > 4 || polls > 12 {
			t.Errorf("%d calls, %d polls", calls, polls)
		}
		table, watched := sh.Accounts, 0
		for slot := range table.Size() {
			if table.At(slot).Watched {
				watched++
				continue
			}
			_, planned := sh.Accounts.Sched.At(slot)
			if planned || d.paced != nil && d.paced.Rate(slot) > 0 || len(table.At(slot).Gaps()) > 0 {
				t.Errorf("free slot %d is planned", slot)
			}
		}
		if watched != 8 || table.Source("keep") == nil || table.Source("s0") != nil {
			t.Errorf("%d accounts are watched, want 8, by one source", watched)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	last := time.Now()
	after(2 * time.Minute)
	for _, a := range names[:8] {
		if w := b.lastSeen(a, last); !w {
			t.Errorf("%s is not polled any more", a)
		}
	}
	begin := time.Now()
	stop()
	if time.Since(begin) > time.Minute {
		t.Errorf("stopping took %v", time.Since(begin))
	}
	for _, sh := range d.shards {
		if calls, polls := sh.UnderWay(); calls != 0 || polls != 0 {
			t.Errorf("%d calls %d polls after the end", calls, polls)
		}
	}
}

// lastSeen says whether an account's status moved since then.
func (b *batchWorld) lastSeen(account string, then time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.cursors[accounts.Key(account)]
	return ok && c.Since.After(then.Add(-5*time.Minute))
}
