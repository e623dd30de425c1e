package latency_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/streamwatch/streamwatch/latency"
)

// longest is what longer durations count as.
const longest = time.Duration(1<<50 - 1)

func of(ds ...time.Duration) latency.Snapshot {
	var h latency.Histogram
	for _, d := range ds {
		h.Record(d)
	}
	return h.Snapshot()
}

// counted is how a histogram sees a duration.
func counted(d time.Duration) time.Duration { return min(max(d, 0), longest) }

// checkUpper fails unless got is an upper bound of want as near as promised.
func checkUpper(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	most := want + want/16
	if want < 512 {
		most = 511
	}
	if got < want || got > most {
		t.Errorf("%s = %d ns, want %d ns or at most 1/16 more", what, got, want)
	}
}

func TestQuantileOfOneDuration(t *testing.T) {
	week := 7 * 24 * time.Hour
	for _, row := range []struct {
		name     string
		recorded time.Duration
		want     time.Duration
	}{
		{"nothing", 0, 0},
		{"negative, for clocks disagree", -time.Hour, 0},
		{"the smallest int64", math.MinInt64, 0},
		{"a nanosecond", 1, 1},
		{"a microsecond", time.Microsecond, time.Microsecond},
		{"812 ms", 812 * time.Millisecond, 812 * time.Millisecond},
		{"a week", week, week},
		{"13 days", longest, longest},
		{"longer", longest + 1, longest},
		{"292 years", math.MaxInt64, longest},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := of(row.recorded) // Max caps the bucket's bound, so all are exact
			for what, got := range map[string]time.Duration{"Max": s.Max(), "p0": s.Quantile(0), "p50": s.Quantile(0.5), "p100": s.Quantile(1)} {
				if got != row.want {
					t.Errorf("%s = %s, want %s", what, got, row.want)
				}
			}
			if off := s.Mean() - row.want; off.Abs() > time.Microsecond || s.Mean() > s.Max() {
				t.Errorf("Mean = %s, want %s to 1 µs and no more than Max", s.Mean(), row.want)
			}
			if s.Count() != 1 {
				t.Errorf("Count = %d, want 1", s.Count())
			}
		})
	}
}

// Every bucket's edges, below and above each power of two and its 16 parts.
func TestResolution(t *testing.T) {
	for exp := 0; exp < 50; exp++ {
		for part := range 16 {
			edge := time.Duration(1<<exp + part<<exp/16)
			for _, d := range []time.Duration{edge - 1, edge, edge + 1} {
				checkUpper(t, fmt.Sprintf("p50 beside %d ns", d), of(d, longest).Quantile(0.5), d)
			}
		}
	}
}

// samples draws n durations over the whole range, or around one place.
func samples(rnd *rand.Rand, n int) []time.Duration {
	ds := make([]time.Duration, n)
	narrow := rnd.IntN(2) == 0
	for i := range ds {
		if narrow {
			ds[i] = time.Duration(float64(time.Second) * math.Exp(rnd.NormFloat64()))
		} else {
			ds[i] = time.Duration(math.Exp2(rnd.Float64() * 51))
		}
	}
	return ds
}

// exact is the smallest sample that a share q do not exceed.
func exact(sorted []time.Duration, q float64) time.Duration {
	rank := max(1, int(math.Ceil(q*float64(len(sorted)))))
	return counted(sorted[rank-1])
}

func TestAgainstSortedSamples(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			ds := samples(rnd, 1+rnd.IntN(3000))
			s := of(ds...)
			slices.Sort(ds)
			before := time.Duration(0)
			for _, q := range []float64{0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
				got := s.Quantile(q)
				checkUpper(t, fmt.Sprint("p", 100*q), got, exact(ds, q))
				if got < before || got > s.Max() {
					t.Errorf("p%g = %s, want %s to Max, %s", 100*q, got, before, s.Max())
				}
				before = got
			}
			var sum float64
			for _, d := range ds {
				sum += float64(counted(d))
			}
			if off := float64(s.Mean()) - sum/float64(len(ds)); math.Abs(off) > 1000 {
				t.Errorf("Mean is %g ns off", off)
			}
			if off := float64(s.Sum()) - sum; sum < math.MaxInt64 && math.Abs(off) > 1000*float64(len(ds)) {
				t.Errorf("Sum is %g ns off", off)
			}
			if s.Max() != counted(ds[len(ds)-1]) || s.Count() != int64(len(ds)) {
				t.Errorf("%s, want count %d, max %s", s, len(ds), counted(ds[len(ds)-1]))
			}
		})
	}
}

// Whatever is recorded, quantiles bound it, and what was recorded later is
// what the difference of two snapshots has.
func FuzzRecordQuantile(f *testing.F) {
	bytesOf := func(ds ...int64) (b []byte) {
		for _, d := range ds {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		return b
	}
	f.Add(bytesOf(0), 0.5, 0)
	f.Add(bytesOf(1, 511, 512, 513), 0.25, 2)
	f.Add(bytesOf(-1, math.MinInt64, math.MaxInt64), 0.99, 1)
	f.Add(bytesOf(int64(time.Second), int64(time.Hour), int64(time.Minute)), math.NaN(), 3)
	f.Fuzz(func(t *testing.T, data []byte, q float64, cut int) {
		var ds []time.Duration
		for ; len(data) >= 8; data = data[8:] {
			ds = append(ds, time.Duration(binary.LittleEndian.Uint64(data)))
		}
		if len(ds) == 0 {
			return
		}
		cut = int(uint(cut) % uint(len(ds)))
		var h latency.Histogram
		var earlier latency.Snapshot
		for i, d := range ds {
			if i == cut {
				earlier = h.Snapshot()
			}
			h.Record(d)
		}
		window := h.Snapshot().Sub(earlier)
		if window.Count() != int64(len(ds)-cut) {
			t.Fatalf("Count = %d, want %d", window.Count(), len(ds)-cut)
		}
		late := slices.Sorted(slices.Values(ds[cut:]))
		if !(q >= 0) { // NaN as well
			q = 0
		}
		q = min(q, 1)
		checkUpper(t, "Quantile", window.Quantile(q), exact(late, q))
		checkUpper(t, "Max", window.Max(), counted(late[len(late)-1]))
		if all := h.Snapshot(); all.Max() != counted(slices.Max(ds)) {
			t.Errorf("Max = %s, want %s", all.Max(), counted(slices.Max(ds)))
		}
	})
}

// Recording and reading at once: no count is lost, and a snapshot's maximum
// covers all that it counts.
func TestConcurrentUse(t *testing.T) {
	const writers, each = 8, 2000
	var h latency.Histogram
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() {
		var before latency.Snapshot
		for {
			s := h.Snapshot()
			if s.Count() < before.Count() || s.Quantile(1) > s.Max() || s.Mean() > s.Max() {
				t.Errorf("%s after %s", s, before)
				return
			}
			if n := s.Sub(before).Count(); n != s.Count()-before.Count() {
				t.Errorf("%d recorded from %s to %s", n, before, s)
				return
			}
			before = s
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				h.Record(time.Duration(i*writers+w) * time.Microsecond)
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	const n = writers * each
	s := h.Snapshot()
	if s.Count() != n || s.Max() != (n-1)*time.Microsecond || s.Sum() != n*(n-1)/2*time.Microsecond {
		t.Errorf("%s, sum %s: want every one of %d", s, s.Sum(), n)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	var h latency.Histogram
	d := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() { d += time.Millisecond; h.Record(d) }); n != 0 {
		t.Errorf("%g allocations for a Record, want none", n)
	}
	if size := unsafe.Sizeof(h); size > 5*1024+512 {
		t.Errorf("a histogram takes %d bytes, want about 5 KB", size)
	}
}

func BenchmarkRecord(b *testing.B) {
	var h latency.Histogram
	b.ReportAllocs()
	d := time.Duration(1)
	for b.Loop() {
		d = d*31 + 7
		h.Record(d & (1<<36 - 1)) // up to 69 s
	}
}

func BenchmarkRecordParallel(b *testing.B) {
	var h latency.Histogram
	b.RunParallel(func(pb *testing.PB) {
		d := time.Duration(1)
		for pb.Next() {
			d = d*31 + 7
			h.Record(d & (1<<36 - 1))
		}
	})
}

var sink latency.Snapshot // has a snapshot made on the heap, as for a caller

func BenchmarkSnapshot(b *testing.B) {
	var h latency.Histogram
	for _, d := range samples(rand.New(rand.NewPCG(1, 0)), 10_000) {
		h.Record(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		sink = h.Snapshot()
	}
}
