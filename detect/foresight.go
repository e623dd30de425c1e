package detect

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// foresight makes a plan every hour and compares it with what happened.
type foresight struct {
	mu   sync.Mutex
	last *Comparison
}

// Times of the comparison: the first plan is made a minute after Run, when
// polls have begun to show how often accounts post, and compared an hour later.
const (
	firstPlan  = time.Minute
	comparison = time.Hour
)

// run is a goroutine of Run.
func (o *foresight) run(ctx context.Context, d *Detector) {
	timer := time.NewTimer(firstPlan)
	defer timer.Stop()
	var open *Comparison
	var detection latency.Snapshot
	var made int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.stop:
			return
		case <-timer.C:
			timer.Reset(comparison)
		}
		now, seen, calls := d.cfg.Now(), d.stages.detection.Snapshot(), d.count.calls.Load()
		if open != nil {
			window := seen.Sub(detection)
			open.To, open.Mean, open.P95, open.Posts = now, window.Mean(), window.Quantile(0.95), window.Count()
			open.CallsPerMinute = float64(calls-made) / now.Sub(open.From).Minutes()
			o.mu.Lock()
			o.last = open
			o.mu.Unlock()
		}
		plans, err := d.Plan(ctx)
		if errors.Is(err, ErrStopped) || ctx.Err() != nil {
			return
		}
		if err != nil {
			d.cfg.Logger.Error("no plan can be made", "error", err)
			open = nil
			continue
		}
		open, detection, made = &Comparison{From: now, Plan: plans.Now}, seen, calls
	}
}

// comparison is the last that is complete.
func (o *foresight) comparison() (Comparison, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		return Comparison{}, false
	}
	return *o.last, true
}
