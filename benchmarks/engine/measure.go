package main

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// window is what a stretch of a run took.
type window struct {
	polls         float64
	cpu, wall     time.Duration
	bytes, allocs float64
}

// measure watches the process for d, and until there was a poll.
func measure(d time.Duration, polls func() int64) window {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, cpu, n := time.Now(), report.CPU(), polls()
	time.Sleep(d)
	for polls() == n {
		time.Sleep(time.Millisecond)
	}
	w := window{polls: float64(polls() - n), cpu: report.CPU() - cpu, wall: time.Since(start)}
	runtime.ReadMemStats(&after)
	w.bytes = float64(after.TotalAlloc - before.TotalAlloc)
	w.allocs = float64(after.Mallocs - before.Mallocs)
	return w
}

// latencies collects how long events took from their detection to the handler.
type latencies struct {
	mu    sync.Mutex
	took  []float64 // µs, at most maxLatencies of them
	count int64
}

const maxLatencies = 1 << 20

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	if len(l.took) < maxLatencies {
		l.took = append(l.took, float64(d.Nanoseconds())/1000)
	}
}

// reset forgets the times, not the count.
func (l *latencies) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = l.took[:0]
}

// taken are the times since the last reset.
func (l *latencies) taken() []float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.took)
}

func (l *latencies) handled() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// median is the figure f over windows.
func median(ws []window, f func(window) float64) float64 {
	var values []float64
	for _, w := range ws {
		values = append(values, f(w))
	}
	return report.Quantile(values, 0.5)
}
