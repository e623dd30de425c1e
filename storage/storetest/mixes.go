package storetest

import (
	"cmp"
	"math/rand/v2"
	"testing"
)

// sized returns the first number with -short, and the second without.
func sized(short, usual int) int {
	if testing.Short() {
		return short
	}
	return usual
}

// mixes returns the function of a case that makes random calls. It calls run Kit.Seeds times, each
// time with a new store, and stops when the case has failed.
func mixes(run func(t *storeTest, rnd *rand.Rand)) func(*storeTest) {
	return func(t *storeTest) {
		for seed := range cmp.Or(t.kit.Seeds, sized(shortSeeds, defaultSeeds)) {
			if seed > 0 {
				t.close()
				t.open()
			}
			runSeed(t, uint64(seed), run)
			if t.Failed() {
				return
			}
		}
	}
}

func runSeed(t *storeTest, seed uint64, run func(*storeTest, *rand.Rand)) {
	defer func() {
		if t.Failed() {
			t.Logf("the seed of these calls is %d, of Kit.Seeds", seed)
		}
	}()
	run(t, rand.New(rand.NewPCG(1, seed)))
}
