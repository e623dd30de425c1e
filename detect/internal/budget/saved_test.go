package budget_test

import (
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
)

// saving is a budget of so many calls a second, of which burst may be made at once, less
// Slack saved.
func saving(perSecond float64, burst int) *kit {
	k := &kit{epoch: time.Now(), stop: make(chan struct{})}
	k.Budget = budget.New(budget.Config{PerSecond: perSecond, Burst: burst, Saves: true, Epoch: k.epoch, Clock: k.clock, Now: time.Now,
		Stop: k.stop, Stopped: errStopped, Ring: func() { k.rings.Add(1) }, Logger: slog.New(slog.DiscardHandler)})
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
		closed := k.Closed(k.clock()).Seconds()
		check("at a rate limit", math.Round(1000*(closed+49.5))/1000)
		pass(time.Duration(closed * 1e9))
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
