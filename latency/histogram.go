package latency

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// The buckets, in nanoseconds. Bucket 0 counts durations below 2^minExp. From there on, each
// power of two is divided into 2^subBits buckets of the same width.
const (
	subBits = 4
	minExp  = 9  // 512 ns
	maxExp  = 50 // 13 days
	buckets = 1 + (maxExp-minExp)<<subBits

	// longest is the longest duration counted. Longer durations count as longest.
	longest = time.Duration(1<<maxExp - 1)
)

// Histogram counts durations. The zero value is empty and ready. Its methods are safe for
// concurrent use. Do not copy it.
type Histogram struct {
	counts [buckets]atomic.Uint64
	micros atomic.Int64 // sum in µs: in ns it would overflow at 292 years
	max    atomic.Int64 // in ns
}

// Record counts d. A negative d counts as 0. A d longer than 2^50 ns (13 days) counts as 2^50 ns.
// Record takes no lock and does not allocate.
func (h *Histogram) Record(d time.Duration) {
	d = min(max(d, 0), longest)
	// Update the bucket last. Then the maximum of a snapshot that counts d is d or more.
	for {
		old := h.max.Load()
		if int64(d) <= old || h.max.CompareAndSwap(old, int64(d)) {
			break
		}
	}
	h.micros.Add(d.Round(time.Microsecond).Microseconds())
	h.counts[bucketOf(d)].Add(1)
}

// Snapshot returns the counts so far. A duration that is recorded at the same time may be
// missing from the counts or from the sum.
func (h *Histogram) Snapshot() Snapshot {
	r := new(record)
	for i := range h.counts {
		r.counts[i] = h.counts[i].Load()
		r.count += r.counts[i]
	}
	if r.count == 0 {
		return Snapshot{}
	}
	r.micros = h.micros.Load()
	r.max = time.Duration(h.max.Load())
	return Snapshot{r}
}

// bucketOf returns the bucket of d, which must be from 0 to longest.
func bucketOf(d time.Duration) int {
	exp := bits.Len64(uint64(d)) - 1
	if exp < minExp {
		return 0
	}
	sub := int(d>>(exp-subBits)) & (1<<subBits - 1)
	return 1 + (exp-minExp)<<subBits + sub
}

// upperBound returns the longest duration that the bucket counts.
func upperBound(bucket int) time.Duration {
	if bucket == 0 {
		return 1<<minExp - 1
	}
	exp := minExp + (bucket-1)>>subBits
	sub := (bucket - 1) & (1<<subBits - 1)
	return time.Duration(1<<subBits+sub+1)<<(exp-subBits) - 1
}
