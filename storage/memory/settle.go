package memory

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// conclude applies a valid settlement.
func (l *events) conclude(st *deliver.Settlement, now time.Time) {
	d := l.deliveries[st.DeliveryID]
	switch {
	case d == nil || d.state.Final() && !(d.orphaned && st.Attempt != nil):
	case st.Attempt == nil && st.EndpointDeleted:
		d.orphaned = true
		l.finish(d, deliver.StateFailed, now)
	case st.Attempt == nil: // the claim is given back
		l.open.move(d, st.Due)
	case slices.ContainsFunc(d.attempts, func(a deliver.Attempt) bool { return a.N == st.Attempt.N }):
	default:
		d.attempts = append(d.attempts, *st.Attempt)
		if d.orphaned { // the attempt was in progress when the endpoint was deleted
			if st.State == deliver.StateDelivered {
				d.state, d.orphaned = st.State, false
			}
			return
		}
		if st.State.Final() {
			l.finish(d, st.State, now)
			return
		}
		d.state = st.State
		if st.Wait > 0 {
			d.uncounted++
			d.waited += st.Wait
		}
		l.open.move(d, st.Due)
	}
}

// finish ends an open delivery. If the event has no other open delivery, it settles the event.
func (l *events) finish(d *delivery, state deliver.State, now time.Time) {
	l.open.remove(d)
	d.state = state
	if d.event.open--; d.event.open == 0 {
		l.settle(d.event, now)
	}
}

// reopen makes a final delivery pending again.
func (l *events) reopen(d *delivery, due time.Time) {
	d.state, d.due, d.uncounted, d.waited, d.orphaned = deliver.StatePending, due, len(d.attempts), 0, false
	l.open.add(d)
	if d.event.open++; d.event.open == 1 {
		l.unsettle(d.event)
	}
}
