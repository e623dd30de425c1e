package main

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/replay"
	"github.com/streamwatch/streamwatch/fetcher"
)

// limited answers 429 for ten minutes.
type limited struct {
	fetcher.Fetcher
	from, until time.Time
}

func (l limited) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if now := time.Now(); now.After(l.from) && now.Before(l.until) {
		return fetcher.Page{}, &fetcher.RateLimitError{RetryAfter: l.until.Sub(now)}
	}
	return l.Fetcher.Timeline(ctx, q)
}

// closed is a policy that may make no call for a time, as by a rate limit.
type closed struct {
	policy
	from, until int64
}

func (c closed) next(now int64) (int32, bool) {
	if now > c.from && now < c.until {
		return 0, false
	}
	return c.policy.next(now)
}

// The whole engine, in virtual time, reaches what the policy alone reaches in
// the replay, less what its calls take: 300 accounts for a day, answers
// after 0.2 to 0.8 s, 1 % of them errors, and ten minutes of 429, for which the
// policy alone makes no call either.
func TestEngineReachesThePolicysLatency(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: takes seconds")
	}
	const accounts, interval = 300, 300 * time.Second
	recording := arrivals.Generate(arrivals.Config{Seed: 11, Accounts: accounts,
		Duration: 24 * time.Hour, PerDay: 10, Sigma: 1.6, Daily: 0.6, Burst: 0.4})
	const warm, refused = 8 * time.Hour, 15 * time.Hour
	budget := accounts / interval.Seconds()
	a := fromRecording(recording)
	alone, err := newPaced(accounts, budget)
	if err != nil {
		t.Fatal(err)
	}
	policy := play(a, budget, int64(warm), closed{alone, int64(refused), int64(refused + 10*time.Minute)})
	fixed := play(a, budget, int64(warm), &inTurn{n: accounts})

	var r replay.LatencyReport
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = replay.MeasureLatency(t.Context(), replay.LatencyConfig{
			Arrivals: recording, Warmup: warm, PerMonitor: accounts,
			Replay: replay.Config{Seed: 3, MinLatency: 200 * time.Millisecond, MaxLatency: 800 * time.Millisecond, ErrorShare: 0.01},
			Engine: func(c *streamwatch.Config) {
				c.Detect.Pace, c.Detect.FetchRate = detect.PaceBudget, budget
				c.Fetcher = limited{c.Fetcher, time.Now().Add(refused), time.Now().Add(refused + 10*time.Minute)}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	mean := r.Mean.Seconds() - 0.5
	t.Logf("mean: fixed interval %.1f s, policy alone %.1f s, engine %.1f s less 0.5 s for the answer (%+.1f %%)\n%s",
		fixed.mean, policy.mean, r.Mean.Seconds(), 100*(mean/policy.mean-1), r)
	if r.Missed != 0 || r.Doubled != 0 {
		t.Errorf("%d missed, %d doubled", r.Missed, r.Doubled)
	}
	if math.Abs(mean/policy.mean-1) > 0.03 {
		t.Errorf("mean %.1f s, %.1f s in the replay: want them within 3 %%", mean, policy.mean)
	}
	if r.CallsPerSecond > budget*1.001 {
		t.Errorf("%.4f calls a second, want at most %.4f", r.CallsPerSecond, budget)
	}
}

// Calls that are saved bring the whole engine what they bring the policy alone, where half of
// the accounts post in the first minutes of an hour: the posts are found much sooner, with as
// many calls.
func TestEngineSavesCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: takes seconds")
	}
	const accounts, interval, warm = 300, 300 * time.Second, 12 * time.Hour
	recording := arrivals.Generate(arrivals.Config{Seed: 12, Accounts: accounts, Duration: 24 * time.Hour, PerDay: 20, Sigma: 1.2})
	for i := range accounts / 2 {
		posts := recording.Posts[i]
		for k, at := range posts {
			posts[k] = at.Truncate(time.Hour) + at%(3*time.Minute)
		}
		slices.Sort(posts)
	}
	budget := accounts / interval.Seconds()
	measure := func(burst int) (r replay.LatencyReport) {
		synctest.Test(t, func(t *testing.T) {
			var err error
			r, err = replay.MeasureLatency(t.Context(), replay.LatencyConfig{
				Arrivals: recording, Warmup: warm, PerMonitor: accounts,
				Engine: func(c *streamwatch.Config) {
					c.Detect.Pace, c.Detect.FetchRate, c.Detect.FetchBurst = detect.PaceBudget, budget, burst
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		return r
	}
	a := fromRecording(recording)
	alone := func(p policy, err error) float64 {
		if err != nil {
			t.Fatal(err)
		}
		return play(a, budget, int64(warm), p).mean
	}
	evenly, saved := measure(0), measure(int(300*budget))
	t.Logf("mean: policy alone %.1f s, %.1f s with saved calls; engine %.1f s, %.1f s", alone(newPaced(accounts, budget)), alone(newSaving(accounts, budget, 300)), evenly.Mean.Seconds(), saved.Mean.Seconds())
	if saved.Mean > evenly.Mean*85/100 || saved.Missed != 0 || saved.Doubled != 0 {
		t.Errorf("mean %s, %d missed, %d doubled; %s without saving: want at most 0.85 of it", saved.Mean, saved.Missed, saved.Doubled, evenly.Mean)
	}
	if saved.CallsPerSecond > budget*1.001 {
		t.Errorf("%.4f calls a second, want at most %.4f", saved.CallsPerSecond, budget)
	}
}
