// Package latency counts durations in histograms of a fixed size, from which quantiles
// are available at any time, in constant memory.
//
//	var h latency.Histogram // the zero value is ready
//	h.Record(812 * time.Millisecond)
//	s := h.Snapshot()
//	fmt.Println(s.Quantile(0.99), s)
//
// A Snapshot is a value that does not change. The difference of two is what
// happened in between, and the sum of those of several histograms is what they
// saw together:
//
//	window := h.Snapshot().Sub(earlier)
//	all := a.Snapshot().Add(b.Snapshot())
//
// # Resolution
//
// Buckets divide each power of two nanoseconds by 16, so that a quantile is
// never below the true one and at most 1/16 above it, from 1 µs to 2^50 ns,
// about 13 days. What is shorter than 512 ns shares one bucket; what is longer
// than 13 days counts as 13 days; what is negative, because clocks disagree,
// counts as 0. A histogram takes 5 KB, and so does a snapshot.
//
// # Why not hdrhistogram-go
//
// The buckets are those of an HDR histogram. The histogram of
// github.com/HdrHistogram/hdrhistogram-go (as of v1.4.0) has no synchronization
// of its own: recording would need a lock on every path that is measured. It is
// made by a constructor that takes its range, returns an error for a value
// beyond it, and cannot be subtracted, which a window needs.
package latency
