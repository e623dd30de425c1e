package pace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

const day = 86_400.0

// branching gives the posts of n accounts until end, in seconds: log-normal rates
// around 20 a day, of which each post brings about so many more, within an hour
// or so. It is Poisson for 0.
func branching(n int, sigma, more, end float64) [][]float64 {
	posts := make([][]float64, n)
	for i := range posts {
		rng := rand.New(rand.NewPCG(11, uint64(i)))
		rate := 20 / day * math.Exp(sigma*rng.NormFloat64()) * (1 - more)
		var post func(at float64)
		post = func(at float64) {
			if at >= end {
				return
			}
			posts[i] = append(posts[i], at)
			for rng.Float64() < more/(1+more) { // geometric
				post(at + 600*math.Exp(1.2*rng.NormFloat64()))
			}
		}
		for at := rng.ExpFloat64() / rate; at < end; at += rng.ExpFloat64() / rate {
			post(at)
		}
		slices.Sort(posts[i])
	}
	return posts
}

// compare lets a Pacer poll the accounts for 20 days, and forecasts the second
// half from what it has learnt in the first. It gives what happened in that
// half as a multiple of the forecast.
func compare(t *testing.T, budget float64, of func(slot int) Account, posts [][]float64) (mean, p95, longest, calls float64) {
	t.Helper()
	const from, end = 10 * day, 20 * day
	p, err := New(budget)
	if err != nil {
		t.Fatal(err)
	}
	for i := range posts {
		if err := p.Add(int32(i), 0, of(i)); err != nil {
			t.Fatal(err)
		}
	}
	var f Forecast
	var delays []float64
	found := make([]int, len(posts))
	forecasted := false
	pollFor(t, p, end, func(slot int32, last, now float64) (news []int64) {
		if now >= from && !forecasted {
			forecasted = true
			groups := make([]Group, len(posts))
			for i := range groups {
				a := of(i)
				groups[i] = Group{Accounts: 1, Rate: p.Rate(int32(i)), Weight: a.Weight, Min: a.Min, Max: a.Max}
			}
			if f, err = Budget(groups, budget); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range posts[slot][found[slot]:] {
			if at > now {
				break
			}
			news = append(news, int64(at*1e9))
			if now > from {
				delays = append(delays, now-at)
			}
		}
		if now > from {
			calls++
			longest = max(longest, now-last)
		}
		found[slot] += len(news)
		return news
	})
	for _, d := range delays {
		mean += d / float64(len(delays))
	}
	slices.Sort(delays)
	calls *= 60 / (end - from)
	return mean / f.Mean.Seconds(), delays[len(delays)*95/100] / f.P95.Seconds(), longest / f.LongestInterval.Seconds(), calls / f.CallsPerMinute
}

// What a Pacer does with posts is what was forecast from what it had learnt:
// closely where they are independent, and better where they come in bursts.
func TestForecastAgainstReplay(t *testing.T) {
	n := testsize.Of(60, 100, 200)
	ordinary := func(int) Account { return Account{} }
	bounded := func(i int) Account {
		return Account{Max: []time.Duration{100, 1000}[i%2] * time.Second}
	}
	floored := func(i int) Account { return Account{Min: 15 * time.Minute, Weight: float64(1 + i%3)} }
	for _, tc := range []struct {
		name        string
		share       float64 // accounts / Budget, seconds
		of          func(slot int) Account
		sigma, more float64
		least, most float64 // of mean and p95
	}{
		{"Poisson, equal rates", 900, ordinary, 0, 0, 0.94, 1.06},
		{"Poisson, unequal rates", 900, ordinary, 1, 0, 0.94, 1.06},
		{"Poisson, very unequal rates", 900, ordinary, 1.6, 0, 0.94, 1.06},
		{"Poisson, weights, and many at their Min", 1200, floored, 1, 0, 0.93, 1.07},
		{"Poisson, Max far beyond the budget", 900, bounded, 1.6, 0, 0.94, 1.06},
		{"each post brings half a post", 900, ordinary, 1.6, 0.5, 0.6, 1.06},
		{"each post brings 0.8 posts", 900, ordinary, 1.6, 0.8, 0.5, 1.06},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mean, p95, longest, calls := compare(t, float64(n)/tc.share, tc.of, branching(n, tc.sigma, tc.more, 20*day))
			t.Logf("happened / forecast: mean %.3f, p95 %.3f, longest %.3f, calls %.4f", mean, p95, longest, calls)
			if min(mean, p95) < tc.least || max(mean, p95) > tc.most {
				t.Errorf("mean %.3f and p95 %.3f of the forecast, want %g to %g", mean, p95, tc.least, tc.most)
			}
			if calls < 0.99 || calls > 1.01 {
				t.Errorf("calls %.3f of the forecast", calls)
			}
			if longest < 0.9 || longest > 1.3 { // less where nothing is gained: intervals become equal
				t.Errorf("longest interval %.3f of the forecast", longest)
			}
		})
	}
}
