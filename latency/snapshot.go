package latency

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Snapshot has the counts of a Histogram at one time, or of the durations recorded between two
// times. It does not change and may be copied. The zero value is empty. Do not compare snapshots
// with ==, because snapshots with the same counts may be unequal.
type Snapshot struct{ r *record } // nil when empty

// record does not change any more after it was put into a Snapshot.
type record struct {
	counts [buckets]uint64
	count  uint64 // sum of counts
	micros int64  // sum of the durations
	max    time.Duration
}

// Count returns the number of durations.
func (s Snapshot) Count() int64 {
	if s.r == nil {
		return 0
	}
	return int64(s.r.count)
}

// Sum returns the sum of the durations, each rounded to 1 µs. It is at most 292 years.
func (s Snapshot) Sum() time.Duration {
	switch {
	case s.r == nil:
		return 0
	case s.r.micros > math.MaxInt64/int64(time.Microsecond):
		return math.MaxInt64
	}
	return time.Duration(s.r.micros) * time.Microsecond
}

// Mean returns the mean of the durations, each rounded to 1 µs. It is 0 if nothing was recorded.
func (s Snapshot) Mean() time.Duration {
	if s.r == nil {
		return 0
	}
	mean := float64(s.r.micros) / float64(s.r.count) * float64(time.Microsecond)
	return min(time.Duration(mean), s.r.max)
}

// Max returns the longest duration. It is exact, except in the result of Sub, where it
// may be up to 1/16 too long.
func (s Snapshot) Max() time.Duration {
	if s.r == nil {
		return 0
	}
	return s.r.max
}

// Quantile returns the q-quantile: at least a share q of the durations are this long or shorter.
// The result is the upper bound of a bucket, or Max if that is lower. It is never below the true
// quantile, and at most 1/16 above it. A q below 0 or NaN counts as 0, a q above 1 as 1. Quantile
// returns 0 if nothing was recorded.
func (s Snapshot) Quantile(q float64) time.Duration {
	if s.r == nil {
		return 0
	}
	rank := uint64(0)
	if q > 0 {
		rank = uint64(math.Ceil(min(q, 1) * float64(s.r.count)))
	}
	var below uint64
	for i, n := range s.r.counts {
		if below += n; n > 0 && below >= rank {
			return min(upperBound(i), s.r.max)
		}
	}
	return s.r.max
}

// AtMost returns the number of durations that are d or shorter. It counts whole buckets, so it
// may leave out durations that are less than 1/16 below d.
func (s Snapshot) AtMost(d time.Duration) int64 {
	switch {
	case s.r == nil || d < 0:
		return 0
	case d >= s.r.max:
		return int64(s.r.count)
	}
	var n uint64
	for i := 0; i < buckets && upperBound(i) <= d; i++ {
		n += s.r.counts[i]
	}
	return int64(n)
}

// Sub returns the durations recorded between earlier and s, two snapshots of one histogram.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	if s.r == nil || earlier.r == nil {
		return s
	}
	d := &record{micros: max(0, s.r.micros-earlier.r.micros)}
	last := 0
	for i, n := range s.r.counts {
		if n > earlier.r.counts[i] {
			d.counts[i] = n - earlier.r.counts[i]
			d.count += d.counts[i]
			last = i
		}
	}
	if d.count == 0 {
		return Snapshot{}
	}
	if d.max = s.r.max; d.max == earlier.r.max { // no new maximum in between
		d.max = min(d.max, upperBound(last))
	}
	return Snapshot{d}
}

// Add returns the durations of s and other together.
func (s Snapshot) Add(other Snapshot) Snapshot {
	switch {
	case s.r == nil:
		return other
	case other.r == nil:
		return s
	}
	sum := *s.r
	for i, n := range other.r.counts {
		sum.counts[i] += n
	}
	sum.count += other.r.count
	sum.micros += other.r.micros
	sum.max = max(sum.max, other.r.max)
	return Snapshot{&sum}
}

// String returns count, mean, p50, p95, p99 and max on one line, with three significant
// digits.
func (s Snapshot) String() string {
	return fmt.Sprintf("count %d, mean %s, p50 %s, p95 %s, p99 %s, max %s", s.Count(),
		brief(s.Mean()), brief(s.Quantile(0.50)), brief(s.Quantile(0.95)), brief(s.Quantile(0.99)), brief(s.Max()))
}

// brief rounds d to three significant digits, but to no less than 1 µs.
func brief(d time.Duration) time.Duration {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}

// MarshalJSON encodes count, mean_ms, p50_ms, p95_ms, p99_ms and max_ms. Durations are in
// milliseconds with three decimals.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	ms := func(d time.Duration) float64 {
		return float64(d.Round(time.Microsecond).Microseconds()) / 1000
	}
	return json.Marshal(struct {
		Count int64   `json:"count"`
		Mean  float64 `json:"mean_ms"`
		P50   float64 `json:"p50_ms"`
		P95   float64 `json:"p95_ms"`
		P99   float64 `json:"p99_ms"`
		Max   float64 `json:"max_ms"`
	}{s.Count(), ms(s.Mean()), ms(s.Quantile(0.50)), ms(s.Quantile(0.95)), ms(s.Quantile(0.99)), ms(s.Max())})
}
