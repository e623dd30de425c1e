package detect

import "testing"

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
