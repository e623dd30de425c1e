package arrivals_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

func count(a *arrivals.Recording) (n int) {
	for _, posts := range a.Posts {
		n += len(posts)
	}
	return n
}

func TestGenerateKeepsTheRate(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		name string
		cfg  arrivals.Config
		want float64 // posts
		off  float64 // share
	}{
		{"by default", arrivals.Config{}, 100 * 7 * 2, 0.1},
		{"Poisson", arrivals.Config{Accounts: 50, Duration: 10 * day, PerDay: 20}, 50 * 10 * 20, 0.04},
		{"log-normal rates, of mean e^(σ²/2)", arrivals.Config{Accounts: 5000, Duration: 4 * day, Sigma: 1}, 5000 * 4 * 2 * 1.6487, 0.08},
		{"with the hour of day", arrivals.Config{Accounts: 300, Duration: 30 * day, Daily: 0.9}, 300 * 30 * 2, 0.04},
		{"with bursts", arrivals.Config{Accounts: 300, Duration: 30 * day, Burst: 0.8}, 300 * 30 * 2, 0.08},
		{"a fifth joins or leaves along the way", arrivals.Config{Accounts: 1000, Duration: 30 * day, Turnover: 0.1}, 1000 * 30 * 2 * 0.9, 0.03},
	} {
		a := arrivals.Generate(tc.cfg)
		if n := count(a); math.Abs(float64(n)/tc.want-1) > tc.off {
			t.Errorf("%s: %d posts, want about %g", tc.name, n, tc.want)
		}
		for i, posts := range a.Posts {
			if !slices.IsSorted(posts) || len(posts) > 0 && (posts[0] < 0 || posts[len(posts)-1] > a.Length) {
				t.Fatalf("%s: posts of account %d are not sorted or outside", tc.name, i)
			}
		}
	}
}

// Each part of the configuration shows in what it is to change.
func TestGenerateShapes(t *testing.T) {
	base := arrivals.Config{Accounts: 400, Duration: 56 * 24 * time.Hour, PerDay: 4}
	// bunched is the share of posts that follow another within 10 minutes.
	bunched := func(a *arrivals.Recording) float64 {
		close := 0
		for _, posts := range a.Posts {
			for k := 1; k < len(posts); k++ {
				if posts[k]-posts[k-1] < 10*time.Minute {
					close++
				}
			}
		}
		return float64(close) / float64(count(a))
	}
	// uneven is the mean relative spread of an account's posts over n parts of
	// its time, parts being those of a period that repeats.
	uneven := func(period time.Duration, n int) func(a *arrivals.Recording) float64 {
		return func(a *arrivals.Recording) float64 {
			sum := 0.0
			for _, posts := range a.Posts {
				parts := make([]float64, n)
				for _, at := range posts {
					parts[int64(at%period)*int64(n)/int64(period+1)]++
				}
				mean := float64(len(posts)) / float64(n)
				for _, p := range parts {
					sum += (p - mean) * (p - mean) / max(1, mean*mean)
				}
			}
			return math.Sqrt(sum / float64(len(a.Posts)*n))
		}
	}
	for _, tc := range []struct {
		name    string
		change  func(c *arrivals.Config)
		measure func(a *arrivals.Recording) float64
		factor  float64 // at least
	}{
		{"Burst", func(c *arrivals.Config) { c.Burst = 0.8 }, bunched, 5},
		{"Daily", func(c *arrivals.Config) { c.Daily = 0.9 }, uneven(24*time.Hour, 6), 2},
		{"Drift", func(c *arrivals.Config) { c.Drift = 0.5 }, uneven(base.Duration, 8), 1.5},
		{"Turnover", func(c *arrivals.Config) { c.Turnover = 0.4 }, uneven(base.Duration, 8), 2},
		{"Sigma", func(c *arrivals.Config) { c.Sigma = 1.5 }, func(a *arrivals.Recording) float64 {
			most := 0
			for _, posts := range a.Posts {
				most = max(most, len(posts))
			}
			return float64(most) / float64(count(a))
		}, 3},
	} {
		changed := base
		tc.change(&changed)
		without, with := tc.measure(arrivals.Generate(base)), tc.measure(arrivals.Generate(changed))
		if with < tc.factor*without {
			t.Errorf("%s: %.3g without, %.3g with, want at least %g times as much", tc.name, without, with, tc.factor)
		}
	}
}

func TestSameSeedSameArrivals(t *testing.T) {
	gen := func(seed uint64) *arrivals.Recording {
		return arrivals.Generate(arrivals.Config{Seed: seed, Accounts: 20, Sigma: 1, Daily: 0.5, Drift: 0.3, Turnover: 0.1, Burst: 0.5})
	}
	if !reflect.DeepEqual(gen(1), gen(1)) {
		t.Error("the same seed gave other arrivals")
	}
	if reflect.DeepEqual(gen(1).Posts, gen(2).Posts) {
		t.Error("another seed gave the same arrivals")
	}
}

func TestGenerateRefuses(t *testing.T) {
	for _, tc := range []struct {
		cfg  arrivals.Config
		want string
	}{
		{arrivals.Config{Accounts: -1}, "Accounts -1"},
		{arrivals.Config{Duration: -1}, "Duration -1ns"},
		{arrivals.Config{PerDay: math.NaN()}, "PerDay NaN"},
		{arrivals.Config{Sigma: 5}, "Sigma 5 is not allowed: want 0 to 4"},
		{arrivals.Config{Daily: 1.1}, "Daily 1.1"},
		{arrivals.Config{Drift: -0.1}, "Drift -0.1"},
		{arrivals.Config{Turnover: 0.6}, "Turnover 0.6"},
		{arrivals.Config{Burst: 1}, "Burst 1"},
		{arrivals.Config{PerDay: 1e9}, "100000000 posts at most"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, tc.want) {
					t.Errorf("panic %q, want one with %q", got, tc.want)
				}
			}()
			arrivals.Generate(tc.cfg)
		}()
	}
}
