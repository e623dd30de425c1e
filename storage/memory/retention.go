package memory

import (
	"slices"
	"sort"
	"time"
)

// settle adds an event without open deliveries to those that may be removed. They are
// kept in order of settledAt even if the clock has stepped back: otherwise an event
// settled while the clock was ahead would delay the removal of those after it.
func (l *events) settle(e *event, now time.Time) {
	e.settledAt = now
	i := len(l.settled)
	if i > 0 && l.settled[i-1].settledAt.After(now) {
		i = sort.Search(i, func(i int) bool { return l.settled[i].settledAt.After(now) })
	}
	l.settled = slices.Insert(l.settled, i, e)
}

// unsettle removes an event that has an open delivery again from those that may be
// removed.
func (l *events) unsettle(e *event) {
	first := sort.Search(len(l.settled), func(i int) bool { return !l.settled[i].settledAt.Before(e.settledAt) })
	if i := slices.Index(l.settled[first:], e); i >= 0 {
		l.settled = slices.Delete(l.settled, first+i, first+i+1)
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
