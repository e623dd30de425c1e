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

// retain removes settled events that are too old or too many. Calls that record or
// settle events call it before they unlock, so that no single call has to remove many.
// The log and the replays call it first, so that they read nothing too old.
func (l *events) retain(now time.Time) {
	for len(l.settled) > 0 {
		e := l.settled[0]
		if len(l.byID) <= l.maxEvents && now.Sub(e.settledAt) < l.retention {
			return
		}
		l.forget(popFront(&l.settled))
	}
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
