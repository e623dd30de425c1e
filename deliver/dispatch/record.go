package dispatch

import (
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/health"
	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/lanestate"
)

// How long a lane waits when its endpoint cannot be read, doubled each time. A secret that
// cannot be opened stays so for longer, but a process that has its key must not find the
// deliveries postponed for long.
const (
	unreadWait, maxUnreadWait = time.Second, 30 * time.Second
	sealedWait                = time.Minute
)

// pausedLook is how often the record of a paused endpoint is read: another process may
// have resumed it.
const pausedLook = time.Minute

func isSealed(err error) bool { return errors.Is(err, deliver.ErrSealed) }

// records are the scheduler's methods for the records of endpoints. They take the
// scheduler's mutex, except where they are called with it.
type records struct{ s *scheduler }

// take applies the result of a read to a lane. It returns how long the lane waits before
// the next read if this one failed, and whether this is the first such wait in a row.
func (r records) take(l *lane, e deliver.Endpoint, err error, cut bool) (wait time.Duration, first bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	switch {
	case r.s.lanes[l.id] != l || l.state.Record != lanestate.RecordReading:
		l.on(lanestate.EventReadFailed) // dropped, or changed meanwhile: it is read again
		return 0, false
	case err == nil:
		if mustReset(&l.record.endpoint, &e) {
			r.resetLane(l)
		}
		l.setRecord(r.s.cfg, e, time.Now())
		l.on(r.event(l))
		if l.state.Record == lanestate.RecordUnread {
			r.s.pause(l, pausedLook)
		}
		return 0, false
	case errors.Is(err, deliver.ErrEndpointNotFound):
		l.on(lanestate.EventReadDeleted)
		l.record.readAt = time.Now()
		return 0, false
	}
	l.on(lanestate.EventReadFailed)
	if cut {
		return 0, false
	}
	if wait = min(unreadWait<<min(l.record.failures, 10), maxUnreadWait); isSealed(err) {
		wait = sealedWait
	}
	l.record.failures++
	r.s.pause(l, wait)
	return wait, l.record.failures == 1
}

// event returns the event for the record that was read; it is called with the mutex. An
// endpoint that is paused for too long is refused, and will be disabled.
func (r records) event(l *lane) lanestate.Event {
	e, now := &l.record.endpoint, r.s.cfg.Now()
	switch {
	case l.record.refusal != "":
		return lanestate.EventReadRefusing
	case e.PausedSince.IsZero():
		return lanestate.EventReadActive
	case now.Sub(e.PausedSince) < deliver.MaxPause:
		return lanestate.EventReadPaused
	}
	r.s.health.Request(l.id, l.owner, health.Verdict{Kind: deliver.NoticeDisabled, Paused: true, Since: e.PausedSince,
		Reason: "paused since " + e.PausedSince.UTC().Format(time.RFC3339)}.Of(e), now)
	l.record.refusal = "the endpoint was paused for too long"
	return lanestate.EventReadRefusing
}

// drop ends an endpoint's lane. Attempts under way finish.
func (r records) drop(endpointID string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if l, ok := r.s.lanes[endpointID]; ok {
		r.s.clear(l)
		delete(r.s.lanes, endpointID)
	}
}

// changed makes an endpoint's lane read the record before the next attempt.
func (r records) changed(endpointID string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if l, ok := r.s.lanes[endpointID]; ok {
		r.readAgain(l)
	}
}

// readAgain makes a lane read its record before the next attempt; it is called with the
// mutex. A lane that waits for its rate reads it now, because its limits may have changed.
func (r records) readAgain(l *lane) {
	if !l.handler {
		l.on(lanestate.EventChanged)
	}
	if l.record.failures > 0 || l.forRate { // it waits for a record that can be read, or for its rate
		l.on(lanestate.EventElapsed)
		r.s.resume(l)
	}
}

// reset forgets the failures of an endpoint.
func (r records) reset(endpointID string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if l, ok := r.s.lanes[endpointID]; ok {
		r.resetLane(l)
		r.readAgain(l)
		r.s.resume(l)
	}
}

// resetLane is reset for a lane; it is called with the mutex. Deliveries that wait in the
// outbox because of the receiver become due at once, or once their outcome is recorded.
func (r records) resetLane(l *lane) {
	l.reset()
	for id := range r.s.overflow.kept.Take(l.id) {
		if it, ok := r.s.held[id]; ok {
			it.hurried = true
		} else {
			r.s.overflow.hurry(l.id, id, r.s.cfg.Now())
		}
	}
}

// setFailingSince sets the FailingSince that a lane has read, so that the lane notices when
// another process changes it in the record.
func (r records) setFailingSince(endpointID string, since time.Time) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if l, ok := r.s.lanes[endpointID]; ok {
		l.record.endpoint.FailingSince = since
		r.readAgain(l)
	}
}

// failingSince returns when the first failed attempt since the last success began, zero
// without one.
func (r records) failingSince(endpointID string) time.Time {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if l, ok := r.s.lanes[endpointID]; ok && !l.health.Since().IsZero() {
		return l.health.Since().UTC().Round(0)
	}
	return time.Time{}
}

// inTrouble reports whether an endpoint's breaker is open, or its lane is parked.
func (r records) inTrouble(endpointID string) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	l, ok := r.s.lanes[endpointID]
	return ok && (l.breaker.Open() || l.parked())
}
