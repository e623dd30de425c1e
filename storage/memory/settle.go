package memory

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// conclude applies a valid settlement.
func (l *events) conclude(st *deliver.Settlement, now time.Time) {
	d := l.deliveries[st.DeliveryID]
	switch {
	case d == nil || d.state.Final() && !(d.orphaned && st.Attempt != nil):
	case st.Attempt == nil && st.EndpointDeleted:
		l.orphan(d, now)
	case st.Attempt == nil: // the claim is given back
		l.open.move(d, st.Due)
	case d.attempted(st.Attempt.N):
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

func (d *delivery) attempted(n int) bool {
	for i := range d.attempts {
		if d.attempts[i].N == n {
			return true
		}
	}
	return false
}

// orphan ends an open delivery because its endpoint was deleted.
func (l *events) orphan(d *delivery, now time.Time) {
	d.orphaned = true
	l.finish(d, deliver.StateFailed, now)
}

// finish ends an open delivery. If the event has no other open delivery, it settles the event.
func (l *events) finish(d *delivery, state deliver.State, now time.Time) {
	l.open.remove(d)
	l.end(d, state, now)
}

// end is like finish, for a delivery that is no longer in the queue.
func (l *events) end(d *delivery, state deliver.State, now time.Time) {
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
