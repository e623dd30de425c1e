package node

import (
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
