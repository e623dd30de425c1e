package main

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// window is what a stretch of a run took.
type window struct {
	polls         float64
	cpu, wall     time.Duration
	bytes, allocs float64
}

// measure watches the process for d.
func measure(d time.Duration, polls func() int64) window {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, cpu, n := time.Now(), cpuTime(), polls()
	time.Sleep(d)
	w := window{polls: float64(polls() - n), cpu: cpuTime() - cpu, wall: time.Since(start)}
	runtime.ReadMemStats(&after)
	w.bytes = float64(after.TotalAlloc - before.TotalAlloc)
	w.allocs = float64(after.Mallocs - before.Mallocs)
	return w
}

// cpuTime is the processor time that the process has used, its garbage
// collector's included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// inUse is the memory that lives: heap after a collection, and stacks.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one's finalizers and pools let go
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
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

// quantile sorts values and gives the smallest that at least the share q of
// them do not exceed; of no values it is NaN.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[max(0, int(math.Ceil(q*float64(len(values))))-1)]
}

// median is the figure f over windows.
func median(ws []window, f func(window) float64) float64 {
	var values []float64
	for _, w := range ws {
		values = append(values, f(w))
	}
	return quantile(values, 0.5)
}
