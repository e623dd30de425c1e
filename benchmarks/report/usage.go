package report

import (
	"math"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// CPU returns the user and system time that the process has used, the garbage
// collector's included. It needs a Unix.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// InUse returns the bytes that live: the heap after a collection, and stacks.
func InUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // frees what finalizers and pools kept in the first
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// Quantile sorts values and returns the smallest that at least the share q of
// them do not exceed; of no values it is NaN.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[max(0, int(math.Ceil(q*float64(len(values))))-1)]
}
