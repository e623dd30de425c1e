package dispatch

import (
	"fmt"
)

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

// Fill has the dispatcher hold as many deliveries as it may, until empty is called.
func (d *Dispatcher) Fill() (empty func()) {
	d.sched.mu.Lock()
	defer d.sched.mu.Unlock()
	n := maxHeld - len(d.sched.held)
	for i := range n {
		d.sched.held[fmt.Sprint("fill", i)] = new(item)
	}
	return func() {
		d.sched.mu.Lock()
		defer d.sched.mu.Unlock()
		for i := range n {
			delete(d.sched.held, fmt.Sprint("fill", i))
		}
	}
}
