package pace

import "math"

// The record's cells: powers of two of the slow and of the fast rate.
const (
	classes   = 16
	leastRate = -20 // the first class of either ends at 2^-19 posts a second, one in six days
	trusted   = 10  // posts' worth of agreement with the estimate that a cell starts with
	enough    = 10_000
)

// record compares estimates with what was found, for accounts of a similar slow
// and fast rate together: how long a burst goes on, or what a silent account is
// up to, all accounts tell of all.
type record struct {
	found, expected [classes * classes]float64 // posts
}

// cell is where an account with these estimates of its rate belongs.
func cell(slow, fast float64) uint8 { return uint8(class(slow)*classes + class(fast)) }

func class(rate float64) int {
	if rate <= 0 {
		return 0
	}
	return max(0, min(classes-1, math.Ilogb(rate)-leastRate))
}

// factor corrects an estimate.
func (r *record) factor(cell uint8) float64 {
	return (r.found[cell] + trusted) / (r.expected[cell] + trusted)
}

// learn adds what a poll found. Older polls count less in time.
func (r *record) learn(cell uint8, found, expected float64) {
	r.found[cell] += found
	r.expected[cell] += expected
	if max(r.found[cell], r.expected[cell]) > enough {
		r.found[cell] /= 2
		r.expected[cell] /= 2
	}
}
