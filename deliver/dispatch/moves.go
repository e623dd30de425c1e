package dispatch

import (
	"slices"

	"github.com/streamwatch/streamwatch/fleet"
)

// moves is what is asked of the scheduler where dispatchers share an outbox. Its methods
// take the scheduler's mutex.
type moves struct{ s *scheduler }

// set makes parts the share. Lanes of others, handlers' excepted, are emptied into
// share.giving. It returns the parts that are new.
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

// toGive returns what is to be given back because parts were given up, with what their
// lanes left to the outbox before.
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

// giveLater keeps what was not given back for the next time, unless the term was lost.
func (m moves) giveLater(list []dueChange, term int) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if term == m.s.share.terms {
		m.s.share.giving = append(list, m.s.share.giving...)
	}
}

// lose ends the share, and forgets all that is queued.
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

// abandoned reports whether a delivery's claim was lost with its term, and forgets it
// then.
func (m moves) abandoned(it *item) bool {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if it.lost {
		delete(m.s.held, it.ID)
	}
	return it.lost
}

// hold has no attempt begin, or has them begin again.
func (m moves) hold(on bool) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.share.onHold = on
	m.s.pump()
}

// shares reports whether other dispatchers share the outbox, and counts the terms that
// were lost.
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

// tell tells whoever has an endpoint that something of it is due, and reports whether
// that is another dispatcher.
func (m moves) tell(endpointID string) bool {
	if m.has(endpointID) {
		return false
	}
	m.s.cfg.tell(fleet.SetOf(fleet.PartOf(endpointID)))
	return true
}

// tellOf tells of what was left to the outbox.
func (m moves) tellOf(list []dueChange) {
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
