package memory

import (
	"slices"
	"sort"
	"time"
)

// settle marks an event that has no open delivery: it may be removed. The list is
// kept in order of time, though the clock may have stepped back: events settled
// while it was ahead must not hold back the removal of those after them.
func (l *events) settle(e *event, now time.Time) {
	e.settledAt = now
	i := len(l.settled)
	if i > 0 && l.settled[i-1].settledAt.After(now) {
		i = sort.Search(i, func(i int) bool { return l.settled[i].settledAt.After(now) })
	}
	l.settled = slices.Insert(l.settled, i, e)
}

// unsettle takes an event back that has an open delivery again.
func (l *events) unsettle(e *event) {
	first := sort.Search(len(l.settled), func(i int) bool { return !l.settled[i].settledAt.Before(e.settledAt) })
	if i := slices.Index(l.settled[first:], e); i >= 0 {
		l.settled = slices.Delete(l.settled, first+i, first+i+1)
	}
}

// retain removes settled events that are too old or too many. Whoever records or
// settles events calls it before unlocking, so that no single call has to remove
// many; the log calls it first, so that it shows nothing too old.
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

	// The owner's list is compacted when more than half of it is removed:
	// events do not become final in order, and shifting it each time would
	// cost the square of its length.
	h := e.owner
	if h.gaps++; h.gaps > len(h.events)/2 {
		h.events = slices.DeleteFunc(h.events, func(e *event) bool { return e.ev == nil })
		h.gaps = 0
	}
}
