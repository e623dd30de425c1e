package dispatch

import "github.com/streamwatch/streamwatch/deliver/dispatch/internal/retry"

// RetryDelay is the wait after a failed attempt.
var RetryDelay = retry.Delay

// SweepNext has the next new lane forget those that are idle, and gives the number
// of lanes at which it would have been done.
func (d *Dispatcher) SweepNext() (was int) {
	d.sched.mu.Lock()
	defer d.sched.mu.Unlock()
	was, d.sched.sweepAt = d.sched.sweepAt, 0
	return was
}

// Remembers says whether an endpoint has a lane.
func (d *Dispatcher) Remembers(endpointID string) bool {
	d.sched.mu.Lock()
	defer d.sched.mu.Unlock()
	return d.sched.lanes[endpointID] != nil
}
