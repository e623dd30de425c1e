package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// claimable says how much the reader may claim.
type claimable struct {
	limit    int           // deliveries
	skip     []string      // endpoints whose lanes take no deliveries
	again    time.Duration // when to look again if every due delivery is for a skipped endpoint
	emptying bool          // a skipped lane will soon have room
}

// allowed returns how much the next claim may take. A lane found full is skipped until its queue is half empty, a parked one until its wait ends.
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

// round is one look of the reader at the outbox.
type round struct {
	n       int64
	spilled []dueChange // deliveries to give back
	parts   *fleet.Set  // that may be claimed; nil is all
}

// beginRound begins a look of the reader.
func (s *scheduler) beginRound() round {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overflow.round++
	return round{s.overflow.round, s.overflow.take(), s.share.parts}
}

// caughtUp notes that all deliveries due in this round have been claimed, except those for
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

// holdsAny reports whether there are deliveries in memory.
func (s *scheduler) holdsAny() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) > 0
}

// expiring returns up to settleGroup queued deliveries whose claims end in half a lease, as
// changes to end in a whole one.
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
		if it, ok := s.held[ch.id]; ok && it.Due.Equal(ch.claimed) {
			it.Due = ch.due
		}
	}
}

// giveBack forgets all deliveries in memory, and returns them as due now.
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
