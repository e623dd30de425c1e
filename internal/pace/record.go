package pace

import "math"

// Constants of the record's cells. Their centers are at 1.5 times powers of two of the slow
// and of the fast rate.
const (
	classes   = 16
	leastRate = -20 // of the first class: 2^-20 to 2^-19 posts per second, a post in 6 to 12 days
	trusted   = 10  // prior of a cell: this many posts expected and found
	enough    = 8_500
)

// record compares estimates with posts found, in cells of similar slow and fast rates. The polls
// of all accounts show how long bursts last, and how silent accounts go on. Corrections are
// interpolated between the centers of four cells, so the estimate does not jump.
type record struct {
	found, expected [classes * classes]float64 // numbers of posts, by cell
}

// spot is an account's place in the record. It is between the center of a cell and the centers of
// the next slow class and the next fast class.
type spot struct {
	cell       int     // slow class × classes + fast class
	slow, fast float64 // distance to the next class, 0 to 1
}

func at(slow, fast float64) spot {
	i, x := class(slow)
	j, y := class(fast)
	return spot{i*classes + j, x, y}
}

// class returns the last class with a center at or below a rate, and the distance from this
// center to the next, 0 to 1.
func class(rate float64) (int, float64) {
	if rate <= 0 {
		return 0, 0
	}
	fraction, power := math.Frexp(rate) // fraction is 0.5 to 1
	place := float64(power-1-leastRate) + 2*fraction - 1.5
	i := int(max(0, min(classes-2, place)))
	return i, max(0, min(1, place-float64(i)))
}

// weights returns the weights of four cells: the spot's own, the next by fast class, the next by
// slow class, and the next by both. neighbours has the offsets of these cells.
func (s spot) weights() [4]float64 {
	return [4]float64{(1 - s.slow) * (1 - s.fast), (1 - s.slow) * s.fast, s.slow * (1 - s.fast), s.slow * s.fast}
}

var neighbours = [4]int{0, 1, classes, classes + 1}

// factor returns the correction of an estimate.
func (r *record) factor(s spot) float64 {
	sum := 0.0
	for i, weight := range s.weights() {
		cell := s.cell + neighbours[i]
		sum += weight * (r.found[cell] + trusted) / (r.expected[cell] + trusted)
	}
	return sum
}

// learn adds the posts that a poll found and the posts expected. A cell's sums are halved when
// one exceeds enough, so older polls count less.
func (r *record) learn(s spot, found, expected float64) {
	for i, weight := range s.weights() {
		cell := s.cell + neighbours[i]
		r.found[cell] += weight * found
		r.expected[cell] += weight * expected
		if max(r.found[cell], r.expected[cell]) > enough {
			r.found[cell] /= 2
			r.expected[cell] /= 2
		}
	}
}
