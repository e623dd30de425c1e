package storetest

import (
	"cmp"
	"math/rand/v2"
)

// mixes makes a case of one that makes calls at random: it runs once for each of
// Kit.Seeds, on a store of its own, until one fails.
func mixes(run func(t *storeTest, rnd *rand.Rand)) func(*storeTest) {
	return func(t *storeTest) {
		for seed := range cmp.Or(t.kit.Seeds, defaultSeeds) {
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
