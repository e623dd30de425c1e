package dispatch

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// share holds the parts of this dispatcher. The scheduler's mutex guards it.
type share struct {
	parts  *fleet.Set // nil means all
	onHold bool       // no attempt begins
}

// theirs returns the part of an endpoint, and reports whether it is another dispatcher's.
func (sh *share) theirs(endpointID string) (fleet.Part, bool) {
	if sh.parts == nil {
		return 0, false
	}
	p := fleet.PartOf(endpointID)
	return p, !sh.parts.Has(p)
}

// tell calls Config.Elsewhere with parts, unless there are none.
func (c *Config) tell(parts fleet.Set) {
	if c.Elsewhere != nil && parts != (fleet.Set{}) {
		c.Elsewhere(slices.Collect(parts.All()))
	}
}

// givenBack returns the change that gives a queued item back to the outbox, due now. An item that
// was never attempted comes in its order among the deliveries that its lane left there before.
func (it *item) givenBack(now time.Time) dueChange {
	due := now
	if it.Attempts == 0 && !it.replayed {
		due = dueOf(&it.Delivery, now)
	}
	return dueChange{it.ID, it.Due, due}
}

// leave gives a claimed delivery for a part of another dispatcher back to the outbox, due now.
func (o *overflow) leave(dv *deliver.Delivery, now time.Time) {
	o.giveBack(dueChange{dv.ID, dv.Due, dueOf(dv, now)}, now)
}

// dueOf returns when a delivery was due first, at most now.
func dueOf(dv *deliver.Delivery, now time.Time) time.Time {
	if dv.CreatedAt.Before(now) {
		return dv.CreatedAt
	}
	return now
}

// setParts replaces this dispatcher's parts, and reports whether some are new. It clears the lanes of
// other parts, except those of handlers; takeSpilled returns their deliveries.
func (s *scheduler) setParts(parts fleet.Set) (taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken = s.share.parts != nil && parts.Minus(*s.share.parts) != fleet.Set{}
	s.share.parts = &parts
	now := s.cfg.Now()
	for id, l := range s.lanes {
		if _, theirs := s.share.theirs(id); theirs && !l.handler {
			for _, it := range s.clear(l) {
				s.overflow.spilled = append(s.overflow.spilled, it.givenBack(now))
			}
		}
	}
	return taken
}

// takeSpilled returns the deliveries to give back, and forgets them.
func (s *scheduler) takeSpilled() []dueChange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.overflow.take()
}

// loseParts gives up all parts, and forgets all queued deliveries.
func (s *scheduler) loseParts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share.parts = new(fleet.Set)
	s.overflow.take()
	for _, l := range s.lanes {
		s.clear(l)
	}
}

// setHold stops new attempts if on is true, and allows them again if it is false.
func (s *scheduler) setHold(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share.onHold = on
	s.pump()
}

// shares reports whether other dispatchers share the outbox.
func (s *scheduler) shares() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.share.parts != nil
}

// has reports whether an endpoint is of this dispatcher's parts.
func (s *scheduler) has(endpointID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, theirs := s.share.theirs(endpointID)
	return !theirs
}

// notifyOwner reports whether an endpoint is in a part of another dispatcher. If so, it passes the
// part to Config.Elsewhere.
func (s *scheduler) notifyOwner(endpointID string) bool {
	if s.has(endpointID) {
		return false
	}
	s.cfg.tell(fleet.SetOf(fleet.PartOf(endpointID)))
	return true
}
