package dispatch

import (
	"github.com/streamwatch/streamwatch/deliver"
	"time"
)

// Breaker is a lane's, for tests with times of their own.
type Breaker struct{ b breaker }

// Record counts an attempt and says for how long the breaker is open from now.
func (b *Breaker) Record(now time.Time, ok bool) time.Duration { return b.b.record(now, ok) }

// Health is an endpoint's, for tests with times of their own.
type Health struct{ h health }

// Record counts an attempt and says what is to be told.
func (h *Health) Record(at time.Time, res deliver.Result) (kind deliver.NoticeKind, reason string, since time.Time) {
	v := h.h.record(at, &res, false)
	return v.kind, v.reason, v.since
}

// Asked counts an attempt that was answered with a wait.
func (h *Health) Asked(at time.Time) (kind deliver.NoticeKind, since time.Time) {
	v := h.h.record(at, &deliver.Result{StatusCode: 429, Error: "status 429"}, true)
	return v.kind, v.since
}

// RetryDelay is the wait after a failed attempt.
var RetryDelay = retryDelay

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
