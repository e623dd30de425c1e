package budget_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/fetcher"
)

// aDay is a budget with a limit of 10 a day, at midnight, whose wall clock is off by so much.
func aDay(off *atomic.Int64) *kit {
	k := &kit{epoch: time.Now(), stop: make(chan struct{})}
	k.Budget = budget.New(budget.Config{Epoch: k.epoch, Clock: k.clock, Now: func() time.Time { return time.Now().Round(0).Add(time.Duration(off.Load())) },
		Stop: k.stop, Stopped: errStopped, Spend: spend.Config{Cost: spend.Cost{Prices: fetcher.Prices{Post: 1}, Limit: 10}},
		Ring: func() {}, Logger: slog.New(slog.DiscardHandler)})
	return k
}

// The limit of a day ends at midnight, also when the machine slept meanwhile, or the clock was
// set.
func TestDayOfTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64
		k := aDay(&off)
		pass(10 * time.Hour)
		k.Spend.Add(fetcher.Billed{Posts: 10})
		waited := make(chan time.Duration, 1)
		go func() {
			began := time.Now()
			_ = k.Wait(t.Context())
			waited <- time.Since(began)
		}()
		pass(time.Hour)
		off.Store(int64(12 * time.Hour)) // it slept from 11:00 to 23:00
		pass(time.Hour + 3*time.Second)
		if closed := k.Closed(k.clock()); closed > 0 {
			t.Errorf("closed for %s after midnight", closed)
		}
		pass(time.Minute)
		select {
		case took := <-waited:
			if took < 2*time.Hour {
				t.Errorf("a call is made after %s, want one after midnight", took)
			}
		default:
			t.Error("no call is made after midnight")
		}
		close(k.stop)
	})
	for _, ahead := range []time.Duration{3 * time.Hour, 15 * time.Hour} { // of the same day, and of the next
		synctest.Test(t, func(t *testing.T) {
			var off atomic.Int64
			off.Store(int64(ahead))
			k := aDay(&off)
			pass(10 * time.Hour)
			k.Spend.Add(fetcher.Billed{Posts: 10})
			off.Store(0)
			k.Spend.Stats()
			pass(14*time.Hour - time.Second)
			if k.Closed(k.clock()) <= 0 {
				t.Errorf("%s ahead: open before midnight, with 10 of 10 spent", ahead)
			}
			pass(4 * time.Second)
			if closed := k.Closed(k.clock()); closed > 0 {
				t.Errorf("%s ahead: closed for %s after midnight", ahead, closed)
			}
		})
	}
}
