package replay_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/replay"
)

// What probes of 100 accounts bring with the calls of equal intervals, in parts of
// their mean wait. Probes that lie cost little, and no post.
func TestMeasureLatencyWithProbes(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: plays 14 hours eight times")
	}
	const warmup = 7 * time.Hour
	a := arrivals.Generate(arrivals.Config{Seed: 5, Accounts: 400, Duration: 2 * warmup, PerDay: 8, Sigma: 1.5})
	fixed := measure(t, replay.LatencyConfig{Arrivals: a, Interval: 5 * time.Minute, Warmup: warmup})
	budget := func(c *streamwatch.Config, calls float64) {
		c.Detect.Pace, c.Detect.FetchRate = detect.PaceBudget, calls
	}
	without := measure(t, replay.LatencyConfig{Arrivals: a, Warmup: warmup, Engine: func(c *streamwatch.Config) { budget(c, fixed.CallsPerSecond) }})
	none := without.Mean.Seconds() / fixed.Mean.Seconds()
	for _, row := range []struct {
		name  string
		probe enginetest.ProbeConfig
		most  float64
	}{
		{"perfect", enginetest.ProbeConfig{}, 0.022},
		{"5 % missed", enginetest.ProbeConfig{MissShare: 0.05}, 0.1},
		{"20 % missed", enginetest.ProbeConfig{MissShare: 0.2}, 0.25},
		{"marks that come late", enginetest.ProbeConfig{Lag: 30 * time.Second}, 0.3},
		{"never changed", enginetest.ProbeConfig{Lie: enginetest.NeverChanged}, 1.06 * none},
		{"always changed", enginetest.ProbeConfig{Lie: enginetest.AlwaysChanged}, 1.06 * none},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := measure(t, replay.LatencyConfig{Arrivals: a, Warmup: warmup, Engine: func(c *streamwatch.Config) {
				budget(c, fixed.CallsPerSecond)
				c.Roles.Probe = c.Fetcher.(*replay.Replay).Prober(row.probe)
			}})
			if got.Missed != 0 || got.Doubled != 0 {
				t.Errorf("%d missed, %d doubled", got.Missed, got.Doubled)
			}
			about(t, "calls a second", got.CallsPerSecond, fixed.CallsPerSecond, 0.02)
			if ratio := got.Mean.Seconds() / fixed.Mean.Seconds(); ratio > row.most {
				t.Errorf("mean %s, %.3f of %s at intervals, want at most %.3f", got.Mean, ratio, fixed.Mean, row.most)
			}
		})
	}
}
