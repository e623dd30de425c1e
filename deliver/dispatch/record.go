package dispatch

import (
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// unreadWait is how long a lane waits after its endpoint cannot be read. The wait doubles with each
// failure, up to maxUnreadWait.
const unreadWait, maxUnreadWait = time.Second, 30 * time.Second

// pausedLook is how often the record of a paused endpoint is read, since another process may resume
// the endpoint.
const pausedLook = time.Minute

// takeRecord applies the result of a read to a lane. If the read failed, the lane waits before the
// next one. takeRecord reports whether the read is the first failure in a row.
func (s *scheduler) takeRecord(l *lane, e deliver.Endpoint, err error, cut bool) (failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.lanes[l.id] != l || l.record.state != recordReading:
		l.record.state = l.record.state.read(recordUnread) // dropped, or changed during the read: it is read again
		return false
	case err == nil:
		if mustReset(&l.record.endpoint, &e) {
			l.reset()
		}
		l.setRecord(s.cfg, e, time.Now())
		l.record.state = l.record.state.read(s.recordResult(l))
		if l.record.state == recordUnread {
			s.pause(l, pausedLook)
		}
		return false
	case errors.Is(err, deliver.ErrEndpointNotFound):
		l.record.state = l.record.state.read(recordDeleted)
		l.record.readAt = time.Now()
		return false
	}
	l.record.state = l.record.state.read(recordUnread)
	if cut {
		return false
	}
	s.pause(l, min(unreadWait<<min(l.record.failures, 10), maxUnreadWait))
	l.record.failures++
	return l.record.failures == 1
}

// recordResult returns the state for the record that was read. It is called with the mutex. If the
// endpoint is paused for too long, it asks the health writer to disable it.
func (s *scheduler) recordResult(l *lane) recordState {
	e, now := &l.record.endpoint, s.cfg.Now()
	switch {
	case l.record.refusal != "":
		return recordRefusing
	case e.PausedSince.IsZero():
		return recordActive
	case now.Sub(e.PausedSince) < deliver.MaxPause:
		return recordUnread
	}
	s.health.request(l.id, l.owner, verdict{Kind: deliver.NoticeDisabled, Paused: true, Since: e.PausedSince,
		Reason: "paused since " + e.PausedSince.UTC().Format(time.RFC3339)}.of(e), now)
	l.record.refusal = "the endpoint was paused for too long"
	return recordRefusing
}

// dropLane ends an endpoint's lane. Attempts under way finish.
func (s *scheduler) dropLane(endpointID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lanes[endpointID]; ok {
		s.clear(l)
	}
}

// dropOwner ends the lanes of the endpoints of the owners for which gone returns true.
func (s *scheduler) dropOwner(gone func(owner string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		if !l.handler && gone(l.owner) {
			s.clear(l)
		}
	}
}

// recordChanged makes the endpoint's lane read its record again before the next attempt.
func (s *scheduler) recordChanged(endpointID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lanes[endpointID]; ok {
		s.readAgain(l)
	}
}

// readAgain makes a lane read its record before the next attempt. It is called with the mutex. A
// lane that waits for its rate reads the record now, because its limits may have changed.
func (s *scheduler) readAgain(l *lane) {
	if !l.handler {
		l.record.state = l.record.state.changed()
	}
	if l.record.failures > 0 || l.forRate { // it waits for a record that can be read, or for its rate
		l.gated = gateOpen
	}
	s.offer(l)
	s.pump()
}

// resetEndpoint forgets the failures of an endpoint.
func (s *scheduler) resetEndpoint(endpointID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lanes[endpointID]; ok {
		l.reset()
		s.readAgain(l)
	}
}

// failingSince returns when the first failed attempt since the last success began, or zero.
func (s *scheduler) failingSince(endpointID string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lanes[endpointID]; ok && !l.health.failingSince().IsZero() {
		return l.health.failingSince().UTC().Round(0)
	}
	return time.Time{}
}

// inTrouble reports whether an endpoint's breaker is open, or its lane is parked.
func (s *scheduler) inTrouble(endpointID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[endpointID]
	return ok && (l.breaker.isOpen() || l.parked())
}
