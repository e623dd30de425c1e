package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// callsWithin counts the timelines that were read in a time.
func (w *world) callsWithin(from time.Time, d time.Duration) int {
	return w.callsSince(from) - w.callsSince(from.Add(d))
}

// Calls are saved for accounts that are due, unless probes share the rate: these make what
// polls leave, and neither has a burst of calls.
func TestCallsAreSavedUnlessProbesShareTheRate(t *testing.T) {
	for name, tc := range map[string]struct {
		burst     int
		probes    bool
		probeRate float64
		saves     bool
	}{
		"no burst":                   {1, false, 0, false},
		"burst":                      {600, false, 0, true},
		"burst, probes":              {600, true, 0, false},
		"burst, probes of their own": {600, true, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			d := paced(t, w, 1, func(s *settings) {
				if s.FetchBurst, s.ProbeRate = tc.burst, tc.probeRate; tc.probes {
					s.Roles.Probe = counts{w: w}
				}
			})
			defer start(t, d)()
			set(t, d, sub("m", "nasa", "esa"))
			after(5 * time.Minute)
			calls := int64(len(w.calls))
			if tc.probeRate == 0 {
				calls += d.Stats().Probes.Calls
			}
			if tc.saves && calls > 100 || !tc.saves && (calls < 290 || calls > 302) {
				t.Errorf("%s: %d calls in 300 s, they are saved: want %t", name, calls, tc.saves)
			}
		})
	}
}

// oneBucket has all timelines in a bucket.
type oneBucket struct{}

func (oneBucket) Bucket(fetcher.Call) string { return "timelines" }

// When a rate limit is over there is no burst of calls: not by those that could have been
// saved meanwhile, of whatever the limit was, and whoever else makes calls.
func TestNoBurstAfterALimit(t *testing.T) {
	for name, tune := range map[string]func(*settings, *world){
		"gate":                        func(*settings, *world) {},
		"bucket":                      func(s *settings, _ *world) { s.Roles.Buckets = oneBucket{} },
		"gate, probes share the rate": func(s *settings, w *world) { s.Roles.Probe = counts{w: w} },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			d := paced(t, w, 1, func(s *settings) { s.FetchBurst = 301; tune(s, w) })
			defer start(t, d)()
			begin := time.Now()
			set(t, d, bounded("m", 100*time.Second, 0, accountNames(90)...))
			after(20 * time.Minute)
			if n := w.callsWithin(begin, 10*time.Second); n > 11 {
				t.Errorf("%s: %d calls in the first 10 s, want 11 at most", name, n)
			}
			opens := time.Now().Add(5 * time.Minute)
			w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
				if time.Now().Before(opens) {
					return nil, &fetcher.RateLimitError{RetryAfter: time.Until(opens)}
				}
				return nil, nil
			})
			after(7 * time.Minute)
			if n := w.callsWithin(opens, 30*time.Second); n > 31 {
				t.Errorf("%s: %d calls in 30 s after the limit, want 31 at most", name, n)
			}
		})
	}
}

// First polls are not held up to save calls.
func TestFirstPollsSaveNoCalls(t *testing.T) {
	for _, spread := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			d := paced(t, w, 1, func(s *settings) { s.FetchBurst = 301 })
			defer start(t, d)()
			names := accountNames(99)
			m := bounded("m", 0, 0, names...)
			m.Spread = spread
			set(t, d, m)
			after(100 * time.Second)
			for _, name := range names {
				if len(w.callTimes(name)) == 0 {
					t.Errorf("spread %t: %s is not polled within 100 s", spread, name)
				}
			}
			after(time.Minute)
			if n := len(w.calls); n > 140 {
				t.Errorf("spread %t: %d calls in 160 s, want calls to be saved after the first polls", spread, n)
			}
		})
	}
}

// A call for which nobody waits any more is not made beside those of a full bucket.
func TestUnusedCallIsNoneTooMany(t *testing.T) {
	for _, p := range []Pace{PaceInterval, PaceBudget} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			d := w.detector(t, func(s *settings) { s.Shards, s.Pace, s.FetchRate, s.FetchBurst = 1, p, 0.1, 1 })
			defer start(t, d)()
			set(t, d, sub("m", "a", "b")) // b waits for the second call
			after(time.Second)
			if err := d.Remove(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
			after(time.Minute)
			from := time.Now()
			set(t, d, sub("n", "c", "d", "e"))
			after(time.Second)
			if n := w.callsSince(from); n != 1 {
				t.Errorf("%s: %d calls in a second, want 1", p, n)
			}
		})
	}
}
