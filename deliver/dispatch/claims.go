package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// claimable says how much the reader may claim.
type claimable struct {
	limit    int           // deliveries
	skip     []string      // endpoints whose lanes take no deliveries
	again    time.Duration // sleep before the next read if every due delivery is for a skipped endpoint
	emptying bool          // a skipped lane will soon have room
}

// allowed returns how much the next claim may take. It skips a lane that was full until its queue
// is half empty, and a parked lane until its wait ends.
func (s *scheduler) allowed() claimable {
	may := claimable{again: blockedWait}
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
			may.again = min(may.again, l.until.Sub(now))
		case l.queue.full:
			may.emptying = may.emptying || !l.pace.hung && l.limiter == nil && gate == gateOpen
		default:
			delete(s.overflow.blocked, l)
			continue
		}
		may.skip = append(may.skip, l.id)
	}
	may.limit = min(claimLimit, max(1, s.cfg.LaneQueue/2), maxHeld-len(s.held))
	return may
}

// round is one read of the outbox by the reader.
type round struct {
	n       int64
	spilled []dueChange // deliveries to give back
	parts   *fleet.Set  // parts to claim from; nil means all
}

// beginRound begins a read of the outbox.
func (s *scheduler) beginRound() round {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overflow.round++
	return round{s.overflow.round, s.overflow.take(), s.share.parts}
}

// caughtUp notes that the reader has claimed all deliveries due in this round, except those for
// skipped endpoints.
func (s *scheduler) caughtUp(round int64, skipped []string) {
	left := make(map[string]bool, len(skipped))
	for _, id := range skipped {
		left[id] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overflow.caughtUp(round, left)
}

// expiring returns changes that renew the claims of queued deliveries: claims that end within half
// a lease get a whole lease from now. It returns at most settleGroup changes.
func (s *scheduler) expiring(now time.Time) (list []dueChange) {
	soon, due := now.Add(s.cfg.Lease/2), now.Add(s.cfg.Lease)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.held {
		if !it.sending && it.Due.Before(soon) && s.cfg.leaseCovers(it.Due, now) {
			if list = append(list, dueChange{it.ID, it.Due, due}); len(list) == settleGroup {
				break
			}
		}
	}
	return list
}

// renewed notes that the claims in list were renewed.
func (s *scheduler) renewed(list []dueChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range list {
		if it, ok := s.held[ch.id]; ok {
			it.Due = ch.due
		}
	}
}

// giveBack forgets all deliveries in memory, and returns the changes that make them due now.
func (s *scheduler) giveBack(now time.Time) []dueChange {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.overflow.take()
	for _, it := range s.held {
		list = append(list, it.givenBack(now))
	}
	clear(s.held)
	return list
}
