package memory

import (
	"slices"
	"time"
)

// settle adds an event without open deliveries to those that may be removed.
func (l *events) settle(e *event, now time.Time) {
	e.settledAt = now
	l.settled = append(l.settled, e)
}

// unsettle removes an event that has an open delivery again from those that may be
// removed.
func (l *events) unsettle(e *event) {
	if i := slices.Index(l.settled, e); i >= 0 {
		l.settled = slices.Delete(l.settled, i, i+1)
	}
}

// retainStep bounds how many events a call removes, in about 2 ms, beyond twice as many as it
// may have settled. Many may be due at once: when an endpoint with many open deliveries is
// deleted, all its events are settled in the same call.
const retainStep = 1024

// retain removes settled events that are too old or too many: retainStep and twice n at
// most. Calls that may settle n events call it before they unlock, those that read events
// first.
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

// gone reports whether an event was removed, or is too old and about to be.
func (l *events) gone(e *event, now time.Time) bool {
	return e.ev == nil || e.open == 0 && now.Sub(e.settledAt) >= l.retention
}

// forget removes an event with its deliveries; only its id stays known.
func (l *events) forget(e *event) {
	delete(l.byID, e.key)
	l.removed.put(e.key, struct{}{})
	for _, d := range e.deliveries {
		delete(l.deliveries, d.id)
	}
	e.ev, e.deliveries = nil, nil

	// The owner's list is compacted when more than half of it is removed. Events are
	// not removed in order, and shifting the list for each would take time quadratic
	// in its length.
	h := e.owner
	if h.gaps++; h.gaps > len(h.events)/2 {
		h.events = slices.DeleteFunc(h.events, func(e *event) bool { return e.ev == nil })
		h.gaps = 0
	}
}
