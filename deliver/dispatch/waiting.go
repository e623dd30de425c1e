package dispatch

import "time"

// pauseHeld is how long a lane may wait with its queue in memory. For longer waits the
// queue goes back to the outbox.
const pauseHeld = 10 * time.Second

// pause has nothing start in a lane for a while. After a long wait its deliveries come
// back in the order they had.
func (s *scheduler) pause(l *lane, wait time.Duration) {
	now := time.Now()
	if until := now.Add(wait); l.gate(now) == gateOpen || until.After(l.until) {
		l.until = until
	}
	if wait <= pauseHeld {
		l.on(eventWait)
		s.offer(l)
		return
	}
	l.on(eventPark)
	s.overflow.blocked[l] = struct{}{}
	s.trim(l, 0)
	s.alarm.wakeAt(s.cfg.Now().Add(wait))
}

// resume offers a lane that waits no more.
func (s *scheduler) resume(l *lane) {
	s.offer(l)
	s.pump()
}

// trim leaves the lane no more than n of its queue, and the rest to the outbox, with
// all that is of replays.
func (s *scheduler) trim(l *lane, n int) {
	q, now := &l.queue, s.cfg.Now()
	for _, it := range q.replays {
		delete(s.held, it.ID)
		s.overflow.add(l, &it.Delivery, now)
	}
	q.replays = nil
	if len(q.items) <= n {
		return
	}
	for _, it := range q.items[n:] {
		delete(s.held, it.ID)
		s.overflow.add(l, &it.Delivery, now)
	}
	clear(q.items[n:])
	q.items = q.items[:n]
	if n > 0 {
		s.overflow.setFull(l)
	}
	s.offer(l)
}

// claimable says how much the reader may claim.
type claimable struct {
	limit    int           // deliveries
	skip     []string      // endpoints whose lanes take none
	again    time.Duration // when to look again if all that is due is theirs
	emptying bool          // one of them will have room soon
}

// claimable returns how much may be claimed. A lane that was found full is left alone
// until it has emptied to the half, one that waits for long until it has waited.
func (s *scheduler) claimable() claimable {
	c := claimable{again: blockedWait}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for l := range s.overflow.blocked {
		gate := l.gate(now)
		if l.queue.full && s.halfEmpty(l) {
			l.queue.full = false
		}
		switch {
		case gate == gateParked:
			c.again = min(c.again, l.until.Sub(now))
		case l.queue.full:
			c.emptying = c.emptying || !l.state.pace.hung() && l.limiter == nil && gate == gateOpen
		default:
			delete(s.overflow.blocked, l)
			continue
		}
		c.skip = append(c.skip, l.id)
	}
	c.limit = min(claimLimit, max(1, s.cfg.LaneQueue/2), maxHeld-len(s.held))
	return c
}

func (s *scheduler) halfEmpty(l *lane) bool {
	return len(l.queue.items) <= l.capacity(s.cfg.LaneQueue, len(s.held))/2
}

// takesReplays reports whether more of a replay may be made for an endpoint.
func (s *scheduler) takesReplays(endpointID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.closed || len(s.held) > maxHeld/2 {
		return false
	}
	l, ok := s.lanes[endpointID]
	return !ok || l.takesReplays(time.Now())
}

// beginRound counts a look of the reader, and gives it what has overflowed.
func (s *scheduler) beginRound() (round int64, spilled []dueChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overflow.round++
	return s.overflow.round, s.overflow.take()
}

// caughtUp tells that all that was due in this round has been claimed, except for the
// endpoints that were skipped.
func (s *scheduler) caughtUp(round int64, skipped []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overflow.caughtUp(round, skipped)
}

// holdsAny reports whether there are deliveries in memory.
func (s *scheduler) holdsAny() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) > 0
}

// expiring returns the queued deliveries whose claims end before soon, with due as
// their new end.
func (s *scheduler) expiring(soon, due time.Time) []dueChange {
	var claims []dueChange
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		for _, queue := range [][]*item{l.queue.items, l.queue.replays} {
			for _, it := range queue {
				if it.Due.Before(soon) {
					claims = append(claims, dueChange{it.ID, it.Due, due})
				}
			}
		}
	}
	return claims
}

// renewed takes over the claims that were prolonged.
func (s *scheduler) renewed(claims []dueChange, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range claims {
		if it, ok := s.held[c.id]; ok && it.Due.Equal(c.claimed) && s.cfg.leaseCovers(c.claimed, now) {
			it.Due = c.due
		}
	}
}

// giveBack forgets all that is held, and returns it as due now.
func (s *scheduler) giveBack(now time.Time) []dueChange {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.overflow.take()
	for _, it := range s.held {
		list = append(list, dueChange{it.ID, it.Due, now})
	}
	clear(s.held)
	return list
}
