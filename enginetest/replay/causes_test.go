package replay_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/replay"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// dear is a store whose commits take some time.
type dear struct {
	storage.Store
	takes time.Duration
}

func (s dear) Journal() detect.Journal { return dearJournal{s.Store.Journal(), s.takes} }

type dearJournal struct {
	detect.Journal
	takes time.Duration
}

func (j dearJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	<-time.After(j.takes)
	return j.Journal.Commit(ctx, batches)
}

// What a post was late for is named, in recorded time at any speed, and the parts
// add up to the whole.
func TestMeasureLatencyCauses(t *testing.T) {
	a := arrivals.Generate(arrivals.Config{Seed: 7, Accounts: 20, Duration: 30 * time.Minute, PerDay: 2880})
	const interval = 30 * time.Second
	for _, tc := range []struct {
		name     string
		cause    string
		min, max time.Duration
		speeds   []float64 // default: 1 and 60
		replay   replay.Config
		engine   func(c *streamwatch.Config, speed float64)
	}{
		{name: "nothing but the interval", cause: "schedule", min: 14 * time.Second, max: 16 * time.Second},
		{
			name: "a rate below what the interval takes", cause: "queue", min: 20 * time.Second, max: time.Minute,
			engine: func(c *streamwatch.Config, _ float64) { c.Detect.FetchRate = 0.4 },
		},
		{
			// A third of the posts is published while a call is under way, which shows them.
			name: "calls of 10 s", cause: "fetch", min: 8 * time.Second, max: 9 * time.Second,
			replay: replay.Config{MinLatency: 10 * time.Second},
		},
		{
			name: "a third of the calls fails", cause: "failure", min: 500 * time.Millisecond, max: 20 * time.Second,
			replay: replay.Config{ErrorShare: 0.3},
		},
		{
			// The engine keeps the times of polls to the second of its own clock.
			name: "posts become visible up to a minute late", cause: "visibility", min: 25 * time.Second, max: 35 * time.Second, speeds: []float64{1},
			replay: replay.Config{LateShare: 1, LateUpTo: time.Minute},
		},
		{
			name: "commits take 5 s", cause: "commit", min: 5 * time.Second, max: 11 * time.Second,
			engine: func(c *streamwatch.Config, speed float64) {
				c.Store = dear{memory.New(memory.Options{}), time.Duration(5e9 / speed)}
				c.ShutdownTimeout = 2 * time.Minute // for the commits that are left at the end
			},
		},
	} {
		if tc.speeds == nil {
			tc.speeds = []float64{1, 60}
		}
		for _, speed := range tc.speeds {
			t.Run(fmt.Sprintf("%s at speed %g", tc.name, speed), func(t *testing.T) {
				r := measure(t, replay.LatencyConfig{
					Arrivals: a, Speed: speed, Interval: interval, Warmup: 10 * time.Minute, Replay: tc.replay,
					Engine: func(c *streamwatch.Config) {
						if tc.engine != nil {
							tc.engine(c, speed)
						}
					},
				})
				means, shares, sum := map[string]time.Duration{}, 0.0, time.Duration(0)
				for _, c := range r.Causes {
					means[c.Name] = c.Mean
					shares += c.Share
					sum += c.Mean
				}
				if got := means[tc.cause]; got < tc.min || got > tc.max {
					t.Errorf("%s %s, want %s to %s: %s", tc.cause, got, tc.min, tc.max, r)
				}
				about(t, "sum of the shares", shares, 1, 1e-9)
				about(t, "sum of the means", sum, r.Mean, 0.05)
			})
		}
	}
}

// What the hook sets is recorded time as well: the same configuration gives the
// same figures at any speed.
func TestMeasureLatencyHasOneUnit(t *testing.T) {
	a := arrivals.Generate(arrivals.Config{Seed: 9, Accounts: 20, Duration: 2 * time.Hour, PerDay: 720})
	for _, tc := range []struct {
		name     string
		replay   replay.Config
		interval time.Duration
		change   func(*streamwatch.Config)
		same     func(r replay.LatencyReport) float64
	}{
		{
			name: "backoff", replay: replay.Config{ErrorShare: 1},
			change: func(c *streamwatch.Config) { c.Detect.Backoff.Min, c.Detect.Backoff.Max = 4*time.Minute, 4*time.Minute },
			same:   func(r replay.LatencyReport) float64 { return r.CallsPerSecond },
		},
		{
			// Posts later than the horizon are history, and never come.
			name: "horizon and overlap", replay: replay.Config{LateShare: 1, LateUpTo: time.Hour},
			change: func(c *streamwatch.Config) { c.Detect.Horizon, c.Detect.Overlap = 30*time.Minute, 30*time.Minute },
			same:   func(r replay.LatencyReport) float64 { return float64(r.Missed) },
		},
		{
			name: "call timeout", replay: replay.Config{MinLatency: 3 * time.Minute, MaxLatency: 5 * time.Minute},
			change: func(c *streamwatch.Config) { c.Detect.FetchTimeout = 4 * time.Minute },
			same:   func(r replay.LatencyReport) float64 { return r.Mean.Seconds() },
		},
		{
			name:   "rate",
			change: func(c *streamwatch.Config) { c.Detect.FetchRate = 0.1 },
			same:   func(r replay.LatencyReport) float64 { return r.CallsPerSecond },
		},
		{
			name: "rate of probes",
			change: func(c *streamwatch.Config) {
				c.Roles.Probe, c.Detect.ProbeRate = c.Fetcher.(*replay.Replay).Prober(enginetest.ProbeConfig{}), 0.1
			},
			same: func(r replay.LatencyReport) float64 { return r.CallsPerSecond },
		},
		{
			name: "gathered polls", interval: 10 * time.Second,
			change: func(c *streamwatch.Config) { c.Detect.Gather = time.Second },
			same:   func(r replay.LatencyReport) float64 { return r.Mean.Seconds() },
		},
		{
			name: "audits", interval: 10 * time.Second,
			change: func(c *streamwatch.Config) { c.Roles.Stream, c.Detect.AuditEvery = empty{}, time.Minute },
			same:   func(r replay.LatencyReport) float64 { return r.CallsPerSecond },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got [2]float64
			for i, speed := range []float64{1, 60} {
				got[i] = tc.same(measure(t, replay.LatencyConfig{Arrivals: a, Speed: speed, Interval: tc.interval, Warmup: 10 * time.Minute, Replay: tc.replay, Engine: tc.change}))
			}
			if got[0] == 0 {
				t.Fatal("0 at speed 1: the case shows nothing")
			}
			about(t, "at speed 60, compared with speed 1,", got[1], got[0], 0.05)
		})
	}
}

// empty is a stream that is connected, and brings no posts, which it says.
type empty struct{}

func (empty) Brings(*fetcher.Tweet) bool { return false }

func (empty) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	if err := emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: q.Accounts}); err != nil {
		return err
	}
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	for {
		sig := fetcher.Signal{Kind: fetcher.SignalHeartbeat}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-beat.C:
		case accounts, ok := <-q.Changes:
			if !ok {
				q.Changes = nil
				continue
			}
			sig = fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: accounts}
		}
		if err := emit(sig); err != nil {
			return err
		}
	}
}
