package detect

import (
	"testing"
	"testing/synctest"
	"time"
)

// A budget of many calls a second has a burst, so that timers that are late cost none.
func TestBurstDefaults(t *testing.T) {
	for _, tc := range []struct {
		pace Pace
		rate float64
		want int
	}{
		{PaceInterval, 0.5, 1}, {PaceInterval, 50, 50},
		{PaceBudget, 0.5, 1}, {PaceBudget, 150, 1}, {PaceBudget, 1667, 16}, {PaceAtLeast, 1667, 16},
	} {
		cfg, err := Config{Pace: tc.pace, FetchRate: tc.rate}.withDefaults(nil)
		if err != nil || cfg.FetchBurst != tc.want {
			t.Errorf("%s at %v calls a second: burst %d, %v, want %d", tc.pace, tc.rate, cfg.FetchBurst, err, tc.want)
		}
	}
}

// No account is polled more often than MinInterval, whatever a subscription asks for.
func TestMinInterval(t *testing.T) {
	for _, tc := range []struct {
		cfg      Config
		interval time.Duration
		most     int // polls in an hour
	}{
		{Config{MinInterval: 5 * time.Minute}, time.Second, 13},
		{Config{MinInterval: 5 * time.Minute}, 10 * time.Minute, 7},
		{Config{MinInterval: 5 * time.Minute, Pace: PaceBudget, FetchRate: 1}, time.Second, 13},
		{Config{MinInterval: 5 * time.Minute, Pace: PaceBudget, FetchRate: 1}, 0, 13},
		{Config{MinInterval: 5 * time.Minute, Pace: PaceAtLeast, FetchRate: 1}, time.Minute, 13},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			d := w.detector(t, func(s *settings) { s.Config = tc.cfg })
			defer start(t, d)()
			m := sub("m", "nasa")
			m.Interval = tc.interval
			set(t, d, m)
			after(time.Hour)
			if n := len(w.callTimes("nasa")); n < tc.most-1 || n > tc.most {
				t.Errorf("MinInterval %s, Pace %s, Interval %s: %d polls in an hour, want %d or one less", tc.cfg.MinInterval, tc.cfg.Pace, tc.interval, n, tc.most)
			}
			plans, err := d.PlanFor([]Subscription{m}, nil)
			if err != nil || plans.Now.CallsPerMinute > 0.21 {
				t.Errorf("plan of %g calls a minute, %v", plans.Now.CallsPerMinute, err)
			}
		})
	}
}
