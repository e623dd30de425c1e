package sqlstore

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// Settle implements deliver.Outbox.
func (o outbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	for i := range ss {
		if err := ss[i].Validate(); err != nil {
			return err
		}
	}
	return o.Write(ctx, func(t Tx) error {
		st := settling{Store: o.Store, t: t, now: o.Now(), open: make(map[string]*settled, len(ss)), ended: make(map[int64]bool)}
		return st.all(ss)
	})
}

// settling is one call of Settle. It reads the deliveries, settles them in memory, and then writes
// them.
type settling struct {
	*Store
	t        Tx
	now      time.Time
	open     map[string]*settled // deliveries that may be settled, by id
	changed  []*settled          // in the order of their first settlement
	attempts []any               // rows to write
	ended    map[int64]bool      // events that have a delivery which became final
}

// settled is a delivery that may be settled. It is open, or it became final because its endpoint
// was deleted.
type settled struct {
	deliveryRow
	was     deliver.Delivery // the state before the call
	numbers map[int]bool     // numbers of its attempts
	changed bool
}

func (s *settling) all(ss []deliver.Settlement) error {
	if err := s.readDeliveries(ss); err != nil {
		return err
	}
	for i := range ss {
		if d := s.open[ss[i].DeliveryID]; d != nil && s.settle(d, &ss[i]) && !d.changed {
			d.changed = true
			s.changed = append(s.changed, d)
		}
	}
	return s.write()
}

func (s *settling) readDeliveries(ss []deliver.Settlement) error {
	ids := make([]any, len(ss))
	for i := range ss {
		ids[i] = ss[i].DeliveryID
	}
	var attempted []any
	byNumber := make(map[int64]*settled)
	err := s.t.AskRows(`SELECT `+deliveryColumns+` FROM (`+s.Settling+`) AS d WHERE d.due_at IS NOT NULL OR d.endpoint_deleted`,
		ids, func(rows Rows) error {
			var d deliveryRow
			err := scanDelivery(rows, &d)
			if s.open[d.ID] == nil { // the same id may occur twice
				s.open[d.ID] = &settled{deliveryRow: d, was: d.Delivery}
				if d.Attempts > 0 {
					attempted = append(attempted, d.n)
					byNumber[d.n] = s.open[d.ID]
				}
			}
			return err
		})
	if err == nil {
		err = s.t.Flush()
	}
	if err != nil {
		return err
	}
	err = s.t.AskRows(`SELECT delivery, attempt FROM attempts WHERE delivery IN ({rows int})`, attempted, func(rows Rows) error {
		var n int64
		var attempt int
		err := rows.Scan(&n, &attempt)
		byNumber[n].note(attempt)
		return err
	})
	if err != nil {
		return err
	}
	return s.t.Flush()
}

// note records the number of an attempt. It returns false if it was recorded before.
func (d *settled) note(attempt int) bool {
	if d.numbers[attempt] {
		return false
	}
	if d.numbers == nil {
		d.numbers = make(map[int]bool)
	}
	d.numbers[attempt] = true
	return true
}

// settle applies a settlement, and reports whether the delivery has changed.
func (s *settling) settle(d *settled, st *deliver.Settlement) bool {
	if d.State.Final() && (!d.EndpointDeleted || st.Attempt == nil) {
		return false
	}
	switch {
	case st.Attempt == nil && st.EndpointDeleted:
		d.EndpointDeleted = true
		s.end(d, deliver.StateFailed)
		return true
	case st.Attempt == nil: // the claim is given back
		d.Due = st.Due
		return true
	case !d.note(st.Attempt.N):
		return false
	}
	a := st.Attempt
	s.attempts = appendAttempt(s.attempts, d.n, d.Attempts, a)
	d.Attempts++
	switch {
	case d.State.Final(): // the attempt was in progress when the endpoint was deleted
		if st.State == deliver.StateDelivered {
			d.State, d.EndpointDeleted = deliver.StateDelivered, false
		}
	case st.State.Final():
		s.end(d, st.State)
	default:
		d.State, d.Due = st.State, st.Due
		if st.Wait > 0 {
			d.Uncounted++
			d.Waited += st.Wait
		}
	}
	return true
}

// end makes a delivery final.
func (s *settling) end(d *settled, state deliver.State) {
	d.State = state
	s.ended[d.event()] = true
}

// write stores the attempts, the changed deliveries, and which events have no open delivery left.
func (s *settling) write() error {
	err := s.t.ExecRows(insertAttempts, s.attempts)
	if err != nil {
		return err
	}
	crashpoint.Hit("sqlstore.settle.attempt")
	var events, changes []any
	final := make(map[deliver.State][]any) // deliveries that became final with their first attempt, as most do
	for _, d := range s.changed {
		if s.ended[d.event()] {
			delete(s.ended, d.event())
			events = append(events, d.event(), nanos(s.now))
		}
		if d.State.Final() && d.EndpointDeleted == d.was.EndpointDeleted && d.Attempts == d.was.Attempts+1 && d.Uncounted == d.was.Uncounted {
			final[d.State] = append(final[d.State], d.n)
			continue
		}
		due := any(nanos(d.Due))
		if d.State.Final() {
			due = nil
		}
		changes = append(changes, d.n, string(d.State), due, d.Attempts, d.Uncounted, int64(d.Waited), d.EndpointDeleted)
	}
	for state, ns := range final {
		err := s.t.ExecRows(`{update} deliveries SET state = '`+string(state)+`', due_at = NULL, attempts = attempts + 1 WHERE n IN ({rows int})`, ns)
		if err != nil {
			return err
		}
	}
	err = s.t.ExecRows(`WITH change (n, state, due_at, attempts, uncounted, waited, endpoint_deleted) AS ({rows int,text,int,int,int,int,bool})
		{update} deliveries AS d SET state = change.state, due_at = change.due_at, attempts = change.attempts,
			uncounted = change.uncounted, waited = change.waited, endpoint_deleted = change.endpoint_deleted
		FROM change WHERE d.n = change.n`, changes)
	if err != nil {
		return err
	}
	return s.t.ExecRows(`WITH ended (event, at) AS ({rows int,int})
		{insert} settled (event, settled_at) SELECT event, at FROM ended
		WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE `+ofEvent("d.n", "ended.event")+` AND `+isOpen+`)`, events)
}
