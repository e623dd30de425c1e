package forecast

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// Comparison compares a plan with what happened then: see detect.Comparison.
type Comparison struct {
	From, To       time.Time
	Plan           Plan // made at From
	Mean, P95      time.Duration
	Posts          int64
	CallsPerMinute float64
}

// Check makes a plan every hour and compares it with what happened.
type Check struct {
	// Make makes a plan.
	Make func(context.Context) (Plan, error)
	// Measure gives how long posts took to be detected, and how many calls were
	// made, until now.
	Measure func() (detection latency.Snapshot, calls int64)
	Now     func() time.Time
	Logger  *slog.Logger

	mu   sync.Mutex
	last *Comparison
}

// Times of the comparison: the first plan is made a minute after Run, when
// polls have begun to show how often accounts post, and compared an hour later.
const (
	firstPlan = time.Minute
	window    = time.Hour
)

// Run checks until ctx ends or stop is closed.
func (c *Check) Run(ctx context.Context, stop <-chan struct{}) {
	timer := time.NewTimer(firstPlan)
	defer timer.Stop()
	var open *Comparison
	var detection latency.Snapshot
	var made int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-stop:
			return
		case <-timer.C:
			timer.Reset(window)
		}
		now := c.Now()
		seen, calls := c.Measure()
		if open != nil {
			hour := seen.Sub(detection)
			open.To, open.Mean, open.P95, open.Posts = now, hour.Mean(), hour.Quantile(0.95), hour.Count()
			open.CallsPerMinute = float64(calls-made) / now.Sub(open.From).Minutes()
			c.mu.Lock()
			c.last = open
			c.mu.Unlock()
		}
		open = nil
		plan, err := c.Make(ctx)
		switch {
		case err == nil:
			open, detection, made = &Comparison{From: now, Plan: plan}, seen, calls
		case ctx.Err() == nil && !closed(stop):
			c.Logger.Error("forecast failed", "error", err)
		}
	}
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// Last is the last comparison that is complete; ok is false before the first.
func (c *Check) Last() (last Comparison, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return Comparison{}, false
	}
	return *c.last, true
}
