package memory

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// outbox implements deliver.Outbox.
type outbox struct{ s *Store }

func (o outbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	s := o.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	skipped := s.open.detach(r.Skip)
	// Taken out first and put back after the last: else a lease that ends at
	// once would be claimed again within this call.
	var claimed []*delivery
	for len(claimed) < r.Limit {
		d := s.open.first()
		if d == nil || d.due.After(r.Now) {
			break
		}
		s.open.remove(d)
		claimed = append(claimed, d)
	}
	out := make([]deliver.Delivery, 0, len(claimed))
	for _, d := range claimed {
		d.due = r.Now.Add(r.Lease)
		s.open.add(d)
		out = append(out, d.view())
	}
	s.open.attach(skipped)
	return out, nil
}

func (o outbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	s := o.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for i := range ss {
		if err := ss[i].Validate(); err != nil {
			return err
		}
	}
	now := s.opts.Now()
	for i := range ss {
		s.conclude(&ss[i], now)
	}
	s.retain(now)
	return nil
}

func (o outbox) NextDue(ctx context.Context) (time.Time, bool, error) {
	s := o.s
	if err := s.lock(ctx); err != nil {
		return time.Time{}, false, err
	}
	defer s.mu.Unlock()
	if d := s.open.first(); d != nil {
		return d.due, true, nil
	}
	return time.Time{}, false, nil
}

// Reopen implements deliver.Outbox.
func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	s := o.s
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	n := 0
	for _, id := range r.IDs {
		d := s.deliveries[id]
		if d == nil || !d.state.Final() || d.event.ev.Source.Owner != r.Owner {
			continue
		}
		s.reopen(d, r.Due)
		n++
	}
	return n, nil
}

// reopen makes a final delivery pending again.
func (s *Store) reopen(d *delivery, due time.Time) {
	d.state, d.due, d.uncounted, d.waited, d.orphaned = deliver.StatePending, due, len(d.attempts), 0, false
	s.open.add(d)
	if d.event.open++; d.event.open == 1 {
		s.unsettle(d.event)
	}
}

// conclude applies a checked settlement.
func (s *Store) conclude(st *deliver.Settlement, now time.Time) {
	d := s.deliveries[st.DeliveryID]
	switch {
	case d == nil || d.state.Final() && !(d.orphaned && st.Attempt != nil):
	case st.Attempt == nil && st.EndpointDeleted:
		s.orphan(d, now)
	case st.Attempt == nil: // given back
		s.open.move(d, st.Due)
	case d.attempted(st.Attempt.N):
	default:
		d.attempts = append(d.attempts, *st.Attempt)
		if d.orphaned { // it was under way
			if st.State == deliver.StateDelivered {
				d.state, d.orphaned = st.State, false
			}
			return
		}
		if st.State.Final() {
			s.finish(d, st.State, now)
			return
		}
		d.state = st.State
		if st.Wait > 0 {
			d.uncounted++
			d.waited += st.Wait
		}
		s.open.move(d, st.Due)
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

// orphan ends an open delivery whose endpoint is gone.
func (s *Store) orphan(d *delivery, now time.Time) {
	d.orphaned = true
	s.finish(d, deliver.StateFailed, now)
}

// finish ends an open delivery; with an event's last one the event is settled.
func (s *Store) finish(d *delivery, state deliver.State, now time.Time) {
	s.open.remove(d)
	d.state = state
	if d.event.open--; d.event.open == 0 {
		s.settle(d.event, now)
	}
}
