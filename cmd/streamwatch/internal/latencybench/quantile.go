package latencybench

import (
	"math"
	"time"
)

// quantiles are those that a report has.
var quantiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999}

// lost is the latency of a post that did not arrive.
const lost = time.Duration(math.MaxInt64)

// percentile is a quantile of the latencies of all posts, by nearest rank. A latency begins with the
// call that publishes the post, so it is never too low.
type percentile struct {
	q  float64
	at time.Duration
	// low and high are the ends of the 95 % confidence interval, by order statistics. If there are
	// too few posts for an upper end, high is the constant lost.
	low, high time.Duration
}

// percentiles returns the quantiles for n posts. times has the sorted latencies of the posts that
// arrived.
func percentiles(times []time.Duration, n int) []percentile {
	at := func(rank int) time.Duration {
		if rank < 1 || rank > len(times) {
			return lost
		}
		return times[rank-1]
	}
	list := make([]percentile, 0, len(quantiles))
	for _, q := range quantiles {
		low, high := interval(q, n)
		list = append(list, percentile{q, at(rank(q, n)), at(low), at(high)})
	}
	return list
}

// rank returns the nearest rank of a quantile among n values, from 1. It returns 0 if n is 0.
func rank(q float64, n int) int {
	// Rounding may have put the product just above a whole number.
	return min(n, max(min(1, n), int(math.Ceil(q*float64(n)-1e-9))))
}

// interval returns the 95 % confidence interval of a quantile, as ranks in a sample of n posts. It
// uses the normal approximation of the binomial distribution. If high is n+1, the sample has no upper
// end.
func interval(q float64, n int) (low, high int) {
	mean := q * float64(n)
	width := 1.96 * math.Sqrt(mean*(1-q))
	return max(min(1, n), int(math.Floor(mean-width))), min(n+1, int(math.Ceil(mean+width))+1)
}
