package engineui

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
)

// planEvery is the least time between two plans, planTime how long making one may take.
const planEvery, planTime = time.Minute, 5 * time.Minute

// forecast keeps the engine's last plan: with many accounts, making one takes a while. A new
// one is made only when a page asks for it.
type forecast struct {
	plan func(context.Context, ...float64) (streamwatch.Plan, error)
	now  func() time.Time
	ask  chan struct{} // holds one while a plan is wanted

	mu   sync.Mutex
	last planned
}

// planned is a plan with its age; zero before the first.
type planned struct {
	Plan streamwatch.Plan
	At   time.Time // when it was asked for
	Took time.Duration
	Err  error
}

func newForecast(plan func(context.Context, ...float64) (streamwatch.Plan, error), now func() time.Time) *forecast {
	return &forecast{plan: plan, now: now, ask: make(chan struct{}, 1)}
}

// get returns the last plan, and has another one made if that is old. It does not wait.
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

// run makes plans until ctx ends.
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
		select { // this plan answers what was asked meanwhile
		case <-f.ask:
		default:
		}
	}
}
