package budget_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
)

// saving is a budget of so many calls a second, of which burst may be made at once, less
// Slack saved.
func saving(perSecond float64, burst int) *kit {
	k := &kit{epoch: time.Now(), stop: make(chan struct{})}
	cfg := k.config(nil)
	cfg.PerSecond, cfg.Burst, cfg.Saves = perSecond, burst, true
	k.Budget = budget.New(cfg)
	return k
}

// lost is in how many seconds a call is lost that nobody makes.
func (k *kit) lost() float64 {
	return math.Round(time.Duration(k.LostFrom()(k.clock())-k.clock()).Seconds()*1000) / 1000
}

// atOnce counts how many tickets there are without waiting.
func (k *kit) atOnce() (n int) {
	for {
		changes := k.Changes()
		if at := k.Ticket(k.clock()); at > k.clock() {
			k.GiveBack(at, changes)
			return n
		}
		n++
	}
}

// Calls are lost from the moment when as many are saved as may be: none at the start, none
// after a rate limit.
func TestSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := saving(2, 101)
		check := func(when string, lost float64) {
			t.Helper()
			if got := k.lost(); got != lost {
				t.Errorf("%s: calls are lost in %g s, want %g", when, got, lost)
			}
		}
		check("at the start", 49.5) // with the one call of Slack
		if n := k.atOnce(); n != 1 {
			t.Errorf("%d calls at once at the start, want 1", n)
		}
		pass(20 * time.Second)
		check("after 20 s", 30)
		pass(time.Minute)
		check("when all are saved", 0)
		if n := k.atOnce(); n != 101 {
			t.Errorf("%d calls at once, want 101", n)
		}
		pass(time.Minute)
		k.CloseFor(10*time.Second, "429")
		check("at a rate limit, during which none is saved", 0)
		pass(k.Closed(k.clock()))
		check("when it is over", 49.5)
		if n := k.atOnce(); n != 1 {
			t.Errorf("%d calls at once after a rate limit, want 1", n)
		}
		pass(time.Minute)
		k.SetRate(1)
		pass(time.Second)
		check("all saved, at half the rate", 0)
		if n := k.atOnce(); n != 50 {
			t.Errorf("%d calls at once with half the rate, want 50", n)
		}
		check("none left", 49.5)
		k.SetRate(0)
		if at := k.LostFrom()(k.clock()); at < math.MaxInt64/4 {
			t.Errorf("without a rate calls are lost from %d, want never", at)
		}
	})
}

// A limit that holds for some of the calls has none saved until it is over: those that it
// has held up come back at once.
func TestNoneIsSavedWhileABucketIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := saving(2, 101)
		pass(time.Minute)
		k.Buckets.CloseFor("timelines", time.Minute, "429")
		if n := k.atOnce(); n != 1 {
			t.Errorf("%d calls at once when a bucket has closed, want 1", n)
		}
		pass(30 * time.Second)
		if got := k.lost(); got != 0 {
			t.Errorf("calls are lost in %g s, want 0: none is saved", got)
		}
		pass(time.Duration(k.Buckets.Until("timelines") - k.clock()))
		if n := k.atOnce(); n != 1 {
			t.Errorf("%d calls at once when it opens, want 1", n)
		}
		pass(30 * time.Second)
		if n := k.atOnce(); n != 60 {
			t.Errorf("%d calls at once 30 s later, want 60", n)
		}
	})
}

// Tickets that waiting callers lose as the gate closes are made up for while it is closed.
func TestTicketsLostToALimitCostNothing(t *testing.T) {
	for _, burst := range []int{1, 101} {
		synctest.Test(t, func(t *testing.T) {
			k := saving(2, burst)
			ctx, cancel := context.WithCancel(t.Context())
			var made atomic.Int64
			for range 31 {
				go func() {
					if k.Wait(ctx) == nil {
						made.Add(1)
					}
				}()
			}
			synctest.Wait() // one call is made, 30 wait
			k.CloseFor(time.Minute, "429")
			pass(k.Closed(k.clock()) + 5*time.Second)
			synctest.Wait()
			if n := made.Load() - 1; n < 10 || n > 11 {
				t.Errorf("burst %d: %d calls in the 5 s after a limit, want 11", burst, n)
			}
			cancel()
			synctest.Wait()
		})
	}
}

// With as many calls at once as late timers need, and where calls are not saved, none are.
func TestNothingIsSaved(t *testing.T) {
	if k := saving(1667, budget.Slack(1667)); k.LostFrom() != nil {
		t.Error("calls are saved with a burst of Slack")
	}
	if k := newKit(2, 101); k.LostFrom() != nil {
		t.Error("calls are saved without Saves")
	}
}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }
