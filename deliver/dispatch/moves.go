package dispatch

import (
	"slices"

	"github.com/streamwatch/streamwatch/fleet"
)

// moves are the scheduler's methods for dispatchers that share an outbox: they change and
// read the parts. They take the scheduler's mutex.
type moves struct{ s *scheduler }

// set replaces this dispatcher's parts, and returns the new ones. It empties the lanes of
// other parts into share.giving, except those of handlers.
func (m moves) set(parts fleet.Set) (taken fleet.Set) {
	s := m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	taken = s.share.set(parts, s.overflow.round)
	now := s.cfg.Now()
	for id, l := range s.lanes {
		_, theirs := s.share.theirs(id)
		switch {
		case l.handler:
		case theirs && !l.given:
			for _, it := range s.clear(l) {
				s.share.giving = append(s.share.giving, it.givenBack(now))
			}
		case !theirs && l.given:
			l.given = false
			s.overflow.follow(l, s.share.since)
		}
	}
	return taken
}

// toGive returns the deliveries to give back because their parts were given up, with those
// that their lanes left to the outbox before.
func (m moves) toGive() (list []dueChange, term int) {
	s := m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	list, s.share.giving = s.share.giving, nil
	s.overflow.spilled = slices.DeleteFunc(s.overflow.spilled, func(c dueChange) bool {
		_, theirs := s.share.theirs(c.endpoint)
		if theirs {
			list = append(list, c)
		}
		return theirs
	})
	return list, s.share.terms
}

// giveLater keeps deliveries that were not given back for the next call of toGive, unless
// the term was lost.
func (m moves) giveLater(list []dueChange, term int) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if term == m.s.share.terms {
		m.s.share.giving = append(list, m.s.share.giving...)
	}
}

// lose gives up all parts, and forgets all queued deliveries.
func (m moves) lose() {
	s := m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share.terms++
	s.share.set(fleet.Set{}, s.overflow.round)
	s.share.giving = nil
	s.overflow.take()
	for _, l := range s.lanes {
		s.clear(l)
	}
	for _, it := range s.held {
		it.lost = true
	}
}

// abandoned reports whether a delivery's claim was lost with its term, and then forgets
// the delivery.
func (m moves) abandoned(it *item) bool {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if it.lost {
		delete(m.s.held, it.ID)
	}
	return it.lost
}

// hold stops the beginning of attempts, or ends the stop.
func (m moves) hold(on bool) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.share.onHold = on
	m.s.pump()
}

// shares reports whether other dispatchers share the outbox, and returns the number of
// terms that were lost.
func (m moves) shares() (yes bool, term int) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	return m.s.share.parts != nil, m.s.share.terms
}

// has reports whether an endpoint is of this dispatcher's parts.
func (m moves) has(endpointID string) bool {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	_, theirs := m.s.share.theirs(endpointID)
	return !theirs
}

// notifyOwner reports whether an endpoint's part is another dispatcher's, and then tells
// Config.Elsewhere of the part.
func (m moves) notifyOwner(endpointID string) bool {
	if m.has(endpointID) {
		return false
	}
	m.s.cfg.tell(fleet.SetOf(fleet.PartOf(endpointID)))
	return true
}

// notifyOwners tells Config.Elsewhere the parts of other dispatchers in list.
func (m moves) notifyOwners(list []dueChange) {
	if m.s.cfg.Elsewhere == nil {
		return
	}
	var parts fleet.Set
	for i := range list {
		if !m.has(list[i].endpoint) {
			parts.Add(fleet.PartOf(list[i].endpoint))
		}
	}
	m.s.cfg.tell(parts)
}
