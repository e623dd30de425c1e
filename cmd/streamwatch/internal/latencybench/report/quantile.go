package report

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// quantiles are those that a report has.
var quantiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999}

// Percentile is a quantile of the latencies of all posts, by nearest rank. A time is null if
// that rank is a lost post's.
type Percentile struct {
	Q float64 `json:"q"`
	// MS counts from the beginning of the call that published a post, and so is never too
	// low; AtLeast counts from the call's answer.
	MS      *float64 `json:"ms"`
	AtLeast *float64 `json:"at_least_ms"`
	// Low and High are the ends of the 95 % confidence interval, by order statistics.
	// High is null, too, where there are too few posts for one.
	Low  *float64 `json:"low_ms"`
	High *float64 `json:"high_ms"`
}

// percentiles returns the quantiles of n posts. upper and lower have the latencies of those
// that arrived, sorted: see Percentile.MS and AtLeast.
func percentiles(upper, lower []time.Duration, n int) []Percentile {
	at := func(s []time.Duration, rank int) *float64 {
		if rank < 1 || rank > len(s) {
			return nil
		}
		v := ms(s[rank-1])
		return &v
	}
	list := make([]Percentile, 0, len(quantiles))
	for _, q := range quantiles {
		k := rank(q, n)
		low, high := interval(q, n)
		list = append(list, Percentile{q, at(upper, k), at(lower, k), at(upper, low), at(upper, high)})
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

// Bucket counts the latencies from From to below UpTo.
type Bucket struct {
	From  float64 `json:"from_ms"`
	UpTo  float64 `json:"up_to_ms"`
	Count int     `json:"count"`
}

// histogram counts times in four buckets to each power of two of microseconds, and
// leaves out empty ones.
func histogram(times []time.Duration) []Bucket {
	list := []Bucket{}
	for _, d := range times { // sorted
		low, high := bounds(d.Microseconds())
		from, upTo := float64(low)/1000, float64(high)/1000
		if n := len(list); n == 0 || list[n-1].From != from {
			list = append(list, Bucket{From: from, UpTo: upTo})
		}
		list[len(list)-1].Count++
	}
	return list
}

// bounds returns the ends of the bucket that a time is in; all are in µs.
func bounds(us int64) (from, upTo int64) {
	step := int64(1) << max(0, bits.Len64(uint64(us))-3)
	return us / step * step, us/step*step + step
}

func sorted(times []time.Duration) []time.Duration {
	s := slices.Clone(times)
	slices.Sort(s)
	return s
}
