// Package latency counts durations in histograms of a fixed size, and computes quantiles
// from them.
//
//	var h latency.Histogram // the zero value is ready
//	h.Record(812 * time.Millisecond)
//	s := h.Snapshot()
//	fmt.Println(s.Quantile(0.99), s)
//
// A Snapshot is a value that does not change. Sub returns the durations that were
// recorded between two snapshots of one histogram. Add merges the snapshots of several
// histograms:
//
//	window := h.Snapshot().Sub(earlier)
//	all := a.Snapshot().Add(b.Snapshot())
//
// # Resolution
//
// Each power of two nanoseconds is divided into 16 buckets. So a quantile is never below the true
// quantile, and at most 1/16 above it, from 1 µs to 2^50 ns (about 13 days). Durations below 512
// ns share one bucket. Longer durations count as 2^50 ns. Negative durations, which occur if two
// clocks differ, count as 0. A histogram or a snapshot takes 5 KB.
//
// # Why not hdrhistogram-go
//
// The buckets are those of an HDR histogram. A histogram of
// github.com/HdrHistogram/hdrhistogram-go (as of v1.4.0) has no synchronization, so every
// recording would need a lock. A constructor sets its range, and a value outside the range is an
// error. It cannot be subtracted from another histogram.
package latency
