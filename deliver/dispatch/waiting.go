package dispatch

import (
	"time"
)

// pauseHeld is the longest wait during which a lane's queue stays in memory. For a longer wait the
// queue goes back to the outbox.
const pauseHeld = 10 * time.Second

// pause makes a lane wait before its next attempt. For a wait longer than pauseHeld the queue goes
// back to the outbox; it is claimed again in the same order.
func (s *scheduler) pause(l *lane, wait time.Duration) {
	now := time.Now()
	l.forRate = false
	if until := now.Add(wait); l.gate(now) == gateOpen || until.After(l.until) {
		l.until = until
	}
	if wait <= pauseHeld {
		if l.gated == gateOpen {
			l.gated = gateWaiting
		}
		s.offer(l)
		return
	}
	l.gated = gateParked
	s.overflow.blocked[l] = struct{}{}
	s.trim(l, 0)
	s.alarm.wakeAt(s.cfg.Now().Add(wait))
}

// trim cuts the lane's queue to n deliveries. It leaves the rest, and all deliveries of replays, to
// the outbox.
func (s *scheduler) trim(l *lane, n int) {
	q, now := &l.queue, s.cfg.Now()
	for _, it := range q.replays {
		delete(s.held, it.ID)
		s.overflow.add(it, now)
	}
	q.replays = nil
	if len(q.items) <= n {
		return
	}
	for _, it := range q.items[n:] {
		delete(s.held, it.ID)
		s.overflow.add(it, now)
	}
	clear(q.items[n:])
	q.items = q.items[:n]
	s.overflow.setFull(l)
	s.offer(l)
}

// halfEmpty reports whether a lane's queue is at most half full.
func (s *scheduler) halfEmpty(l *lane) bool {
	return len(l.queue.items) <= l.capacity(s.cfg.LaneQueue, len(s.held))/2
}

// takesReplays reports whether a step of a replay may be made for an endpoint.
func (s *scheduler) takesReplays(endpointID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[endpointID]
	return len(s.held) <= maxHeld/2 && (!ok || l.takesReplays(time.Now()))
}
