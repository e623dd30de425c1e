package latencybench

import (
	"math"
	"time"
)

// quantiles are those that a report has.
var quantiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999}

// lost is the latency of a post that did not arrive.
const lost = time.Duration(math.MaxInt64)

// percentile is a quantile of the latencies of all posts, by nearest rank. They count from the
// beginning of the call that published a post, and so are never too low.
type percentile struct {
	q  float64
	at time.Duration
	// low and high are the ends of the 95 % confidence interval, by order statistics. high is
	// lost, too, where there are too few posts for one.
	low, high time.Duration
}

// percentiles returns the quantiles of n posts. times has the latencies of those that arrived,
// sorted.
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

// rank is the nearest rank of a quantile among n, from 1; 0 among none.
func rank(q float64, n int) int {
	// A product that rounding has put just above a whole number is that number.
	return min(n, max(min(1, n), int(math.Ceil(q*float64(n)-1e-9))))
}

// interval returns the ranks, in a sample of n posts, of the ends of the 95 % confidence
// interval of a quantile, by the normal approximation of the binomial distribution. The
// upper one may be n+1: then the sample has no upper end.
func interval(q float64, n int) (low, high int) {
	mean := q * float64(n)
	width := 1.96 * math.Sqrt(mean*(1-q))
	return max(min(1, n), int(math.Floor(mean-width))), min(n+1, int(math.Ceil(mean+width))+1)
}
