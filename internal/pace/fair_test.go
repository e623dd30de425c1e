package pace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

// alike returns the mean delay, as a multiple of the fixed interval's, of accounts that
// post independently so many times a day. The first three days are for learning.
func alike(t *testing.T, accounts int, perDay float64) float64 {
	t.Helper()
	const share = 300.0
	var g gaps
	posts := poisson(rand.New(rand.NewPCG(15, 16)), equal(accounts, perDay))
	pollFor(t, newPacer(t, float64(accounts)/share, accounts), float64(testsize.Of(5, 6, 8))*day, func(slot int32, last, now float64) []int64 {
		if now > 3*day {
			g.add(now - last)
		}
		return posts(slot, now)
	})
	return g.squares / g.sum / share
}

// Where all accounts are alike nothing can be gained, and next to nothing is
// lost.
func TestAlikeIsNoWorseThanFixed(t *testing.T) {
	n := testsize.Of(60, 100, 200)
	for _, perDay := range []float64{5, 20} {
		if mean := alike(t, n, perDay); mean > 1.005 {
			t.Errorf("%g posts a day: mean %.4f of a fixed interval's, want at most 1.005", perDay, mean)
		}
	}
}

// crowdDelay is the mean delay that a post of a crowd adds by a gap between polls:
// it is posted an exponentially distributed time after the begin, in the mean
// fade, and counts if that is in the gap. All are seconds.
func crowdDelay(begin, from, until, fade float64) float64 {
	x, y := max(0, from-begin)/fade, (until-begin)/fade
	if y <= 0 {
		return 0
	}
	return fade * ((y-x)*math.Exp(-x) - math.Exp(-x) + math.Exp(-y))
}

// All accounts post within the same half hours, and next to nothing else:
// following their bursts gains nothing, and loses little. Delays are those of the
// gaps between polls, without the chance of a few posts, and half an interval at a
// fixed one.
func TestAllInOneCrowd(t *testing.T) {
	const accounts, worlds = 200, 3
	mean := 0.0
	for seed := range uint64(worlds) {
		mean += crowdMean(t, accounts, rand.New(rand.NewPCG(17, 18+seed))) / worlds
	}
	t.Logf("mean %.4f of a fixed interval's", mean)
	if mean > 1.05 {
		t.Errorf("mean %.4f of a fixed interval's, want at most 1.05", mean)
	}
}

// crowdMean is the mean delay in one such world, as a multiple of the fixed
// interval's.
func crowdMean(t *testing.T, accounts int, rng *rand.Rand) float64 {
	const share, days, fade = 300.0, 20, 1800.0
	posts := make([][]float64, accounts)
	var begins []float64
	for begin := 3600.0; begin < (days-1)*86_400; begin += 43_200 + 86_400*rng.Float64() {
		begins = append(begins, begin)
		for i := range posts {
			for range 5 {
				posts[i] = append(posts[i], begin+fade*rng.ExpFloat64())
			}
			slices.Sort(posts[i])
		}
	}
	p := newPacer(t, float64(accounts)/share, accounts)
	var sum float64
	scored := begins[len(begins)/3:] // the first ones are for learning
	pollFor(t, p, days*day, func(slot int32, last, now float64) (found []int64) {
		for ; len(posts[slot]) > 0 && posts[slot][0] <= now; posts[slot] = posts[slot][1:] {
			found = append(found, int64(posts[slot][0]*1e9))
		}
		for _, begin := range scored {
			if now > begin && last < begin+20*fade {
				sum += crowdDelay(begin, last, now, fade)
			}
		}
		return found
	})
	return sum / float64(accounts*len(scored)) / (share / 2)
}
