package latency

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Snapshot is the content of a Histogram at a time, or what was added between
// two times. It does not change and may be copied; the zero value is empty.
// Comparing two with == says nothing about their content.
type Snapshot struct{ r *record } // nil when empty

// record is read-only once it is in a Snapshot.
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

// Sum returns the sum of the durations, to 1 µs each, at most 292 years.
func (s Snapshot) Sum() time.Duration {
	switch {
	case s.r == nil:
		return 0
	case s.r.micros > math.MaxInt64/int64(time.Microsecond):
		return math.MaxInt64
	}
	return time.Duration(s.r.micros) * time.Microsecond
}

// Mean returns the mean duration, to 1 µs; 0 when there is none.
func (s Snapshot) Mean() time.Duration {
	if s.r == nil {
		return 0
	}
	mean := float64(s.r.micros) / float64(s.r.count) * float64(time.Microsecond)
	return min(time.Duration(mean), s.r.max)
}

// Max returns the longest duration: exact, except in the difference of two snapshots,
// where it may be up to 1/16 more than the longest in between.
func (s Snapshot) Max() time.Duration {
	if s.r == nil {
		return 0
	}
	return s.r.max
}

// Quantile returns the q-quantile: the upper bound of the bucket in which it lies, so
// that at least a share q of the durations do not exceed it. It is never below the
// true quantile, at most 1/16 above it, and never above Max. A q below 0 or NaN
// counts as 0, one above 1 as 1. It is 0 when nothing was recorded.
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

// AtMost returns how many durations are at most d, to whole buckets: durations less
// than 1/16 below d may be left out.
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

// Sub returns what was recorded between earlier and s, two snapshots of one
// histogram.
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
	if d.max = s.r.max; d.max == earlier.r.max { // the record was not broken in between
		d.max = min(d.max, upperBound(last))
	}
	return Snapshot{d}
}

// Add returns what s and other hold together.
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

// String returns one line, to three digits: count, mean, p50, p95, p99, max.
func (s Snapshot) String() string {
	return fmt.Sprintf("count %d, mean %s, p50 %s, p95 %s, p99 %s, max %s", s.Count(),
		brief(s.Mean()), brief(s.Quantile(0.50)), brief(s.Quantile(0.95)), brief(s.Quantile(0.99)), brief(s.Max()))
}

// brief rounds to three digits, from 1 µs on.
func brief(d time.Duration) time.Duration {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}

// MarshalJSON encodes count, mean_ms, p50_ms, p95_ms, p99_ms and max_ms, in
// milliseconds to 1 µs.
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
