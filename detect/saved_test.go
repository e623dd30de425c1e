package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

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
