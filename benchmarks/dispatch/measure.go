package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// contestant sends webhooks. It keeps its connections from run to run.
type contestant interface {
	name() string
	// run sends for about d, waits for every answer, and says how many were
	// accepted and how many failed.
	run(d time.Duration) (sent, failed int64, err error)
	close()
}

// figures of one run, or of several.
type figures struct {
	rate        float64   // accepted a second
	cpu, allocs []float64 // per accepted delivery: microseconds, number
	failed      int64
}

func measure(c contestant, d time.Duration) (f figures, err error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := report.CPU(), time.Now()
	sent, failed, err := c.run(d)
	took := time.Since(began)
	cpu = report.CPU() - cpu
	runtime.ReadMemStats(&after)
	if err == nil && sent == 0 {
		err = fmt.Errorf("nothing was accepted, %d failed", failed)
	}
	if err != nil {
		return f, err
	}
	f.rate = float64(sent) / took.Seconds()
	f.cpu = []float64{float64(cpu.Nanoseconds()) / 1000 / float64(sent)}
	f.allocs = []float64{float64(after.Mallocs-before.Mallocs) / float64(sent)}
	f.failed = failed
	return f, nil
}
