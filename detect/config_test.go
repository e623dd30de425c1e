package detect

import (
	"strings"
	"testing"
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

func TestGatherIsChecked(t *testing.T) {
	for _, tc := range []struct {
		cfg  Config
		want string
	}{
		{Config{Gather: time.Second}, ""},
		{Config{Gather: -1}, "Gather -1ns is not allowed"},
		{Config{Gather: time.Second + 1}, "at most 1s"},
		{Config{Gather: time.Millisecond, Pace: PaceBudget, FetchRate: 1}, "want 0 when a budget sets the pace"},
	} {
		_, err := tc.cfg.withDefaults(nil)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("Gather %s, Pace %s: error %v, want %q", tc.cfg.Gather, tc.cfg.Pace, err, tc.want)
		}
	}
}
