package node

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/streamwatch/streamwatch/fleet"
)

func TestShares(t *testing.T) {
	for n := 1; n <= 1100; n++ {
		weights := make([]float64, n)
		for i := range weights {
			weights[i] = 3
		}
		before, after := shares(weights), shares(append(weights, 3))
		sum := 0
		for _, s := range before {
			sum += s
			if s > (fleet.Parts+n-1)/n || s < fleet.Parts/n {
				t.Fatalf("%d nodes: one has %d", n, s)
			}
		}
		if sum != fleet.Parts {
			t.Fatalf("%d nodes want %d parts in all", n, sum)
		}
		// The names of those who join sort anywhere.
		for _, at := range []int{0, n / 2, n} {
			for i := range before {
				j := i
				if i >= at {
					j++
				}
				if after[j] > before[i] {
					t.Fatalf("%d nodes, one joins at %d: node %d wants %d, had %d", n, at, i, after[j], before[i])
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		weights := make([]float64, 1+rng.IntN(200))
		of, sum := 0.0, 0
		for i := range weights {
			weights[i] = rng.Float64() + 1e-6
			of += weights[i]
		}
		for i, s := range shares(weights) {
			sum += s
			if quota := fleet.Parts * weights[i] / of; float64(s) > quota+1 || float64(s) < quota-1 {
				t.Fatalf("a quota of %v makes %d", quota, s)
			}
		}
		if sum != fleet.Parts {
			t.Fatalf("%v: %d parts in all", weights, sum)
		}
	}
}

// What is left of all parts goes to the largest remainders.
func TestRemainders(t *testing.T) {
	if got := shares([]float64{1, 2}); got[0] != 341 || got[1] != 683 {
		t.Errorf("shares %v of 341.3 and 682.7 parts", got)
	}
}

// A node whose targets are not known to be busy gets enough to find out: each counts as
// much as the mean of all.
func TestShareHasAFloor(t *testing.T) {
	busy := says{Demand: map[string]float64{"b": 990}, Targets: map[string]float64{"b": 50}}
	quiet := Budget{Name: "b", Total: 100, Demand: 10, Targets: 50}
	floor := 1000. / 100 * 50
	if got, want := share(quiet, []says{busy}), 100*floor/(990+floor); math.Abs(got-want) > 1e-9 {
		t.Errorf("share %v, want %v", got, want)
	}
	loud := Budget{Name: "b", Total: 100, Demand: 990, Targets: 50}
	rest := says{Demand: map[string]float64{"b": 10}, Targets: map[string]float64{"b": 50}}
	if sum := share(quiet, []says{busy}) + share(loud, []says{rest}); math.Abs(sum-100) > 1e-9 {
		t.Errorf("the shares are %v together, want 100", sum)
	}
	quiet.Targets, busy.Targets = 0, nil
	if got := share(quiet, []says{busy}); math.Abs(got-1) > 1e-9 {
		t.Errorf("share %v by demand alone, want 1", got)
	}
}
