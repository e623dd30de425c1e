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
		removeAt(&l.settled, i)
	}
}

// retain removes the settled events that are too old or too many. A call that may settle events
// calls it at the end, before it unlocks the store. A call that reads events calls it first.
func (l *events) retain(now time.Time) {
	for len(l.settled) > 0 {
		e := l.settled[0]
		if len(l.byID) <= l.maxEvents && now.Sub(e.settledAt) < l.retention {
			return
		}
		l.forget(popFront(&l.settled))
	}
}

// forget removes an event with its deliveries, and remembers its id.
func (l *events) forget(e *event) {
	delete(l.byID, e.key)
	l.removed.put(e.key, struct{}{})
	for _, d := range e.deliveries {
		delete(l.deliveries, d.id)
	}
	if e.owner.events[0] == e { // mostly
		popFront(&e.owner.events)
		return
	}
	removeAt(&e.owner.events, len(e.owner.events)-len(e.owner.after(e.seq))-1)
}
