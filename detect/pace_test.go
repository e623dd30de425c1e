package detect

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
)

// paced makes a detector that spends so many calls a second.
func paced(t *testing.T, w *world, rate float64, tune func(*settings)) *Detector {
	return w.detector(t, func(c *settings) {
		c.Pace, c.FetchRate, c.Shards = PaceBudget, rate, 0
		if tune != nil {
			tune(c)
		}
	})
}

// bounded is a subscription with an interval, 0 for none, and a weight.
func bounded(source string, interval time.Duration, weight float64, accounts ...string) Subscription {
	s := sub(source, accounts...)
	s.Interval, s.Weight = interval, weight
	return s
}

// longestWait is the longest time between two polls of an account since from.
func (w *world) longestWait(account string, from time.Time) (longest time.Duration) {
	last := from
	for _, at := range w.callTimes(account) {
		if at.Before(from) {
			continue
		}
		longest = max(longest, at.Sub(last))
		last = at
	}
	return max(longest, time.Since(last))
}

func (w *world) callsSince(from time.Time) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if !c.at.Before(from) {
			n++
		}
	}
	return n
}

func TestBudgetIsSpentWherePostsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := paced(t, w, 1, nil)
		defer start(t, d)()
		set(t, d, bounded("m", 0, 0, accountNames(100)...))
		begin := time.Now()
		for i := range 3 * 60 {
			after(20 * time.Second)
			w.publish("account00", fmt.Sprintf("p%d", i), 0)
		}
		from := begin.Add(30 * time.Minute)
		busy, silent := 0, 0
		for _, at := range w.callTimes("account00") {
			if at.After(from) {
				busy++
			}
		}
		for _, at := range w.callTimes("account50") {
			if at.After(from) {
				silent++
			}
		}
		if busy < 5*silent || silent == 0 {
			t.Errorf("the account that posts was polled %d times, a silent one %d times, want it at least 5 times as often", busy, silent)
		}
		calls := float64(w.callsSince(begin))
		if perSecond := calls / time.Since(begin).Seconds(); perSecond > 1.01 || perSecond < 0.95 {
			t.Errorf("%.3f calls a second, want the budget of 1, all of it", perSecond)
		}
		for _, a := range accountNames(100) {
			if gap := w.longestWait(a, begin); gap > 260*time.Second {
				t.Errorf("%s was not polled for %v, want at most 2.4 equal shares of 100 s, and a little", a, gap)
			}
		}
		if got := len(w.events); got < 175 {
			t.Errorf("%d events of 180 posts", got)
		}
		if s := d.Stats().Pace; s.Budget != 1 || !s.Feasible || s.Demand < 0.3 {
			t.Errorf("pace %+v, want a feasible budget of 1", s)
		}
	})
}

func TestIntervalIsTheLongestWaitUnderABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := paced(t, w, 1, nil)
		defer start(t, d)()
		set(t, d, bounded("rest", 0, 0, accountNames(60)...))
		set(t, d, bounded("tight", 10*time.Second, 0, "account07"))
		after(time.Minute)
		begin := time.Now()
		after(time.Hour)
		if gap := w.longestWait("account07", begin); gap > 13*time.Second {
			t.Errorf("longest wait %v, want at most the monitor's 10 s and a little", gap)
		}
		st, ok, err := d.Account(t.Context(), "account07")
		if !ok || err != nil || st.Interval != 10*time.Second || st.Sources != 2 || !st.NextPoll.IsZero() {
			t.Errorf("%+v %v %v", st, ok, err)
		}
		for _, row := range []struct{ rate, budget float64 }{{0.5, 0.5}, {0.25, 0.25}, {0, 0.25}, {1, 1}} { // 0 is not for long
			d.SetRate(row.rate)
			synctest.Wait()
			if got := d.Stats().Pace.Budget; got != row.budget {
				t.Errorf("a budget of %g at a rate of %g, want %g", got, row.rate, row.budget)
			}
		}
	})
}

func TestIntervalIsTheShortestWaitWherePaceSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := paced(t, w, 10, func(c *settings) { c.Pace = PaceAtLeast })
		defer start(t, d)()
		set(t, d, bounded("m", 30*time.Second, 0, accountNames(3)...))
		begin := time.Now()
		after(10 * time.Minute)
		for _, a := range accountNames(3) {
			times := w.callTimes(a)
			for i := 1; i < len(times); i++ {
				if wait := times[i].Sub(times[i-1]); wait < 30*time.Second {
					t.Errorf("%s: polled again after %v, want at least 30 s", a, wait)
				}
			}
		}
		if n := w.callsSince(begin); n < 55 {
			t.Errorf("%d polls of 3 accounts in 10 minutes, want about 60", n)
		}
	})
}

func TestBudgetThatCanNotKeepTheIntervalsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var log bytes.Buffer
		d := paced(t, w, 1, func(c *settings) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		defer start(t, d)()
		set(t, d, bounded("m", 10*time.Second, 0, accountNames(40)...))
		after(time.Minute)
		if s := d.Stats().Pace; s.Feasible || s.Demand < 3.9 || s.Demand > 4.1 {
			t.Errorf("pace %+v, want a demand of 4 calls a second for a budget of 1", s)
		}
		if n := strings.Count(log.String(), "budget is too small"); n != 1 {
			t.Errorf("the log says so %d times, want once:\n%s", n, log.String())
		}
		begin := time.Now()
		after(time.Hour)
		for _, a := range accountNames(40) {
			if gap := w.longestWait(a, begin); gap > 60*time.Second {
				t.Errorf("%s waited %v, want all to wait alike: about 40 s", a, gap)
			}
		}
		p, err := d.Plan(t.Context(), 8)
		if err != nil || p.Now.Feasible || p.Now.Shortfall < 170 || p.Now.Shortfall > 190 || !p.Other[0].Feasible {
			t.Errorf("plan %+v %v, want 180 calls a minute missing now, none with a budget of 8 a second", p, err)
		}
	})
}

func TestBudgetWithSharedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		d := paced(t, b.world, 0.5, func(c *settings) { c.Fetcher = b })
		defer start(t, d)()
		set(t, d, bounded("m", 0, 0, accountNames(95)...))
		begin := time.Now()
		after(20 * time.Minute)
		b.mu.Lock()
		calls, polls := len(b.sizes), 0
		for _, n := range b.sizes {
			polls += n
		}
		b.mu.Unlock()
		if perSecond := float64(calls) / time.Since(begin).Seconds(); perSecond > 0.51 || perSecond < 0.45 {
			t.Errorf("%.3f calls a second, want the budget of 0.5", perSecond)
		}
		if polls < 9*calls {
			t.Errorf("%d polls in %d calls, want calls full with 10", polls, calls)
		}
		if s := d.Stats().Pace; s.Budget < 4.9 || s.Budget > 5 {
			t.Errorf("%+v, want a budget of 5 polls a second", s)
		}
	})
}

func TestPaceConfig(t *testing.T) {
	w := &world{}
	d, err := New(Config{Pace: PaceBudget, FetchRate: 1}, Deps{Fetcher: w, Journal: w, State: w})
	if err != nil {
		t.Fatal(err)
	}
	one := []monitor.Account{{Username: "a"}}
	for want, s := range map[string]Subscription{
		"Interval 100ms": {Interval: 100 * time.Millisecond, Accounts: one},
		"Weight -1":      {Weight: -1, Accounts: one},
		"Interval -1s":   {Interval: -time.Second, Accounts: one},
	} {
		s.Source.ID = "m"
		if err := d.Set(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
