package replay_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/replay"
)

// The same calls find posts sooner when a budget sets the pace, where some
// accounts post more than others.
func TestMeasureLatencyUnderABudget(t *testing.T) {
	a := arrivals.Generate(arrivals.Config{Seed: 5, Accounts: 50, Duration: 6 * time.Hour, PerDay: 80, Sigma: 1.8})
	interval := measure(t, replay.LatencyConfig{Arrivals: a, Interval: 5 * time.Minute, Warmup: 2 * time.Hour})
	budget := measure(t, replay.LatencyConfig{Arrivals: a, Warmup: 2 * time.Hour, Engine: func(c *streamwatch.Config) {
		c.Detect.Pace, c.Detect.FetchRate = detect.PaceBudget, interval.CallsPerSecond
	}})
	if budget.Missed != 0 || budget.Doubled != 0 {
		t.Errorf("%d missed, %d doubled", budget.Missed, budget.Doubled)
	}
	about(t, "calls a second", budget.CallsPerSecond, interval.CallsPerSecond, 0.02)
	if ratio := budget.Mean.Seconds() / interval.Mean.Seconds(); ratio > 0.8 {
		t.Errorf("mean %s, %.2f of the %s at intervals, want clearly less", budget.Mean, ratio, interval.Mean)
	}
	if budget.LongestGap > 15*time.Minute {
		t.Errorf("longest gap %s, want 2.4 intervals and a little at most", budget.LongestGap)
	}
}
