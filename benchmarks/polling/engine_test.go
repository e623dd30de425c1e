package main

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/monitor"
)

// engineMean has an engine poll the accounts of a recording in virtual time, and returns
// how late the posts after the warm-up came in the mean, and the calls a second.
func engineMean(t *testing.T, recording *arrivals.Recording, warm time.Duration, budget float64, burst int) (mean, calls float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		player := enginetest.PlayArrivals(recording)
		began := time.Now()
		var mu sync.Mutex
		came := map[string]time.Duration{}
		engine, err := streamwatch.New(streamwatch.Config{
			Fetcher: player, Quotas: streamwatch.Quotas{MonitorAccounts: len(recording.Posts)},
			Detect: detect.Config{Pace: detect.PaceBudget, FetchRate: budget, FetchBurst: burst},
			OnEvent: func(_ context.Context, e deliver.Event) error {
				mu.Lock()
				defer mu.Unlock()
				came[e.TweetID] = time.Since(e.PublishedAt)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "all", Usernames: player.Accounts()}); err != nil {
			t.Fatal(err)
		}
		<-time.After(recording.Length)
		polls := engine.Stats().Detect.Polls
		if err := engine.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		sum, n := 0.0, 0
		for _, post := range player.Posted() {
			published := post.PublishedAt.Sub(began)
			if published < warm {
				continue
			}
			late, ok := came[post.ID]
			if !ok { // nobody has asked since
				late = recording.Length - published
			}
			sum, n = sum+late.Seconds(), n+1
		}
		mean, calls = sum/float64(n), float64(polls)/recording.Length.Seconds()
	})
	return mean, calls
}

// The whole engine, in virtual time, finds posts as soon as the policy alone does in the
// replay, with as many calls, also when they are saved for the first minutes of an hour, in
// which half of the accounts post.
func TestEngineReachesThePolicy(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: takes seconds")
	}
	const accounts, interval, warm = 300, 300 * time.Second, 8 * time.Hour
	budget := accounts / interval.Seconds()
	bursty := arrivals.Generate(arrivals.Config{Seed: 11, Accounts: accounts, Duration: 24 * time.Hour, PerDay: 10, Sigma: 1.6, Daily: 0.6, Burst: 0.4})
	hourly := arrivals.Generate(arrivals.Config{Seed: 12, Accounts: accounts, Duration: 24 * time.Hour, PerDay: 20, Sigma: 1.2})
	gather(hourly)
	for _, tc := range []struct {
		name      string
		recording *arrivals.Recording
		burst     int
		within    float64
		policy    func() (policy, error)
	}{
		{"bursty", bursty, 0, 0.03, func() (policy, error) { return newPaced(accounts, budget) }},
		{"saved calls", hourly, int(300 * budget), 0.1, func() (policy, error) { return newSaving(accounts, budget, 300) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := tc.policy()
			if err != nil {
				t.Fatal(err)
			}
			alone := play(fromRecording(tc.recording), budget, int64(warm), p).mean
			mean, calls := engineMean(t, tc.recording, warm, budget, tc.burst)
			t.Logf("mean: policy alone %.1f s, engine %.1f s (%+.1f %%)", alone, mean, 100*(mean/alone-1))
			if math.Abs(mean/alone-1) > tc.within {
				t.Errorf("mean %.1f s, %.1f s in the replay: want them within %g %%", mean, alone, 100*tc.within)
			}
			if calls > budget*1.001 {
				t.Errorf("%.4f calls a second, want at most %.4f", calls, budget)
			}
		})
	}
}
