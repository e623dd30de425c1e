package engineui

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
)

// planEvery is the minimum time between two plans; planTime limits the time to make one.
const planEvery, planTime = time.Minute, 5 * time.Minute

// forecast caches the engine's last plan, because making one takes a while with many accounts.
// It makes a new one only when a page asks for it.
type forecast struct {
	plan func(context.Context, ...float64) (streamwatch.Plan, error)
	now  func() time.Time
	ask  chan struct{} // buffered, size 1; holds a value while a plan is wanted

	mu   sync.Mutex
	last planned
}

// planned is a plan and when it was requested. It is zero before the first plan.
type planned struct {
	Plan streamwatch.Plan
	At   time.Time // when it was requested
	Took time.Duration
	Err  error
}

func newForecast(plan func(context.Context, ...float64) (streamwatch.Plan, error), now func() time.Time) *forecast {
	return &forecast{plan: plan, now: now, ask: make(chan struct{}, 1)}
}

// get returns the last plan without waiting. If the plan is old, it requests a new one.
func (f *forecast) get() planned {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.At.IsZero() || f.now().Sub(f.last.At) >= planEvery {
		select {
		case f.ask <- struct{}{}:
		default:
		}
	}
	return f.last
}

// run makes requested plans until ctx ends.
func (f *forecast) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.ask:
		}
		at := f.now()
		of, cancel := context.WithTimeout(ctx, planTime)
		plan, err := f.plan(of)
		cancel()
		f.mu.Lock()
		f.last = planned{Plan: plan, At: at, Took: f.now().Sub(at), Err: err}
		f.mu.Unlock()
		select { // drop requests that came meanwhile: this plan is for them, too
		case <-f.ask:
		default:
		}
	}
}
