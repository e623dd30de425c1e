package latency

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// The buckets, in nanoseconds. Bucket 0 holds durations below 2^minExp; above it
// each power of two is divided into 2^subBits buckets of the same width.
const (
	subBits = 4
	minExp  = 9  // 512 ns
	maxExp  = 50 // 13 days
	buckets = 1 + (maxExp-minExp)<<subBits

	// longest is what longer durations count as.
	longest = time.Duration(1<<maxExp - 1)
)

// Histogram counts durations. The zero value is empty and ready. Its methods
// are safe for concurrent use; it must not be copied.
type Histogram struct {
	counts [buckets]atomic.Uint64
	micros atomic.Int64 // sum: nanoseconds would overflow after 292 years in all
	max    atomic.Int64 // ns
}

// Record counts d: as 0 when it is negative, as 2^50 ns (13 days) when it is
// longer. It takes no lock and allocates nothing.
func (h *Histogram) Record(d time.Duration) {
	d = min(max(d, 0), longest)
	// The bucket goes last: a snapshot that has it has the maximum as well.
	for {
		old := h.max.Load()
		if int64(d) <= old || h.max.CompareAndSwap(old, int64(d)) {
			break
		}
	}
	h.micros.Add(d.Round(time.Microsecond).Microseconds())
	h.counts[bucketOf(d)].Add(1)
}

// Snapshot returns what has been recorded so far. A duration that is recorded at the
// same time may be in the counts and not yet in the sum, or the other way round.
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

// bucketOf is the bucket of a duration from 0 to longest.
func bucketOf(d time.Duration) int {
	exp := bits.Len64(uint64(d)) - 1
	if exp < minExp {
		return 0
	}
	sub := int(d>>(exp-subBits)) & (1<<subBits - 1)
	return 1 + (exp-minExp)<<subBits + sub
}

// upperBound is the longest duration of a bucket.
func upperBound(bucket int) time.Duration {
	if bucket == 0 {
		return 1<<minExp - 1
	}
	exp := minExp + (bucket-1)>>subBits
	sub := (bucket - 1) & (1<<subBits - 1)
	return time.Duration(1<<subBits+sub+1)<<(exp-subBits) - 1
}
