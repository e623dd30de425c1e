package memory

import (
	"slices"
	"time"
)

// settle marks an event without open deliveries as removable.
func (l *events) settle(e *event, now time.Time) {
	e.settledAt = now
	l.settled = append(l.settled, e)
}

// unsettle removes an event from the settled ones, because it has an open delivery again.
func (l *events) unsettle(e *event) {
	if i := slices.Index(l.settled, e); i >= 0 {
		l.settled = slices.Delete(l.settled, i, i+1)
	}
}

// retainStep is part of the maximum number of events that a call removes: retainStep (in about 2
// ms) plus twice the number that it may settle. Many events can become removable in one call:
// deleting an endpoint settles the events of all its open deliveries.
const retainStep = 1024

// retain removes up to retainStep + 2n settled events that are too old or too many. A call that may
// settle n events calls it at the end, before it unlocks the store. A call that reads events calls
// it first, with n = 0.
func (l *events) retain(now time.Time, n int) {
	for range retainStep + 2*n {
		if len(l.settled) == 0 {
			return
		}
		e := l.settled[0]
		if len(l.byID) <= l.maxEvents && now.Sub(e.settledAt) < l.retention {
			return
		}
		l.forget(popFront(&l.settled))
	}
}

// gone reports whether an event was removed or is past its retention.
func (l *events) gone(e *event, now time.Time) bool {
	return e.ev == nil || e.open == 0 && now.Sub(e.settledAt) >= l.retention
}

// forget removes an event with its deliveries, and remembers its id.
func (l *events) forget(e *event) {
	delete(l.byID, e.key)
	l.removed.put(e.key, struct{}{})
	for _, d := range e.deliveries {
		delete(l.deliveries, d.id)
	}
	e.ev, e.deliveries = nil, nil

	// Compact the owner's list only when more than half of its events are removed. Events are
	// removed in any order, and shifting the list each time would take quadratic time.
	h := e.owner
	if h.gaps++; h.gaps > len(h.events)/2 {
		h.events = slices.DeleteFunc(h.events, func(e *event) bool { return e.ev == nil })
		h.gaps = 0
	}
}
