package main

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// outbox implements deliver.Outbox: the deliveries that are not final.
type outbox struct{ s *Store }

func (o outbox) Claim(ctx context.Context, r deliver.ClaimRequest) (claimed []deliver.Delivery, err error) {
	type candidate struct {
		id string
		d  delivery
	}
	err = o.s.update(ctx, func(draft *state, _ time.Time) error {
		var due []candidate // in the order in which they were made
		for id, d := range draft.Deliveries.all() {
			if !d.State.Final() && !d.Due.After(r.Now) && !slices.Contains(r.Skip, d.EndpointID) {
				due = append(due, candidate{id, d})
			}
		}
		slices.SortStableFunc(due, func(a, b candidate) int { return a.d.Due.Compare(b.d.Due) })
		for _, c := range due[:min(max(r.Limit, 0), len(due))] {
			c.d.Due = r.Now.Add(r.Lease)
			draft.Deliveries.put(c.id, c.d)
			claimed = append(claimed, draft.delivery(c.id, c.d))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (o outbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	return o.s.update(ctx, func(draft *state, now time.Time) error {
		for i := range ss {
			if err := ss[i].Validate(); err != nil {
				return err
			}
			draft.settle(ss[i], now)
		}
		return nil
	})
}

func (s *state) settle(st deliver.Settlement, now time.Time) {
	d, ok := s.Deliveries.get(st.DeliveryID)
	if !ok || d.State.Final() && !(d.Orphaned && st.Attempt != nil) {
		return
	}
	if st.Attempt == nil && st.EndpointDeleted {
		s.orphan(st.DeliveryID, d, now)
		return
	}
	if st.Attempt == nil { // given back
		d.Due = st.Due
		s.Deliveries.put(st.DeliveryID, d)
		return
	}
	if slices.ContainsFunc(d.Log, func(a deliver.Attempt) bool { return a.N == st.Attempt.N }) {
		return
	}
	d.Log = append(slices.Clip(d.Log), *st.Attempt)
	if d.Orphaned { // it was under way
		if st.State == deliver.StateDelivered {
			d.State, d.Orphaned = st.State, false
		}
		s.Deliveries.put(st.DeliveryID, d)
		return
	}
	d.State = st.State
	if d.State.Final() {
		s.end(st.DeliveryID, d, now)
		return
	}
	if st.Wait > 0 {
		d.Uncounted++
		d.Waited += st.Wait
	}
	d.Due = st.Due
	s.Deliveries.put(st.DeliveryID, d)
}

// orphan ends an open delivery whose endpoint is gone.
func (s *state) orphan(id string, d delivery, now time.Time) {
	d.State, d.Orphaned = deliver.StateFailed, true
	s.end(id, d, now)
}

// end records a delivery that has become final. If it was the last open one of its event, the event's
// retention begins.
func (s *state) end(id string, d delivery, now time.Time) {
	s.Deliveries.put(id, d)
	l, _ := s.Lives.get(d.EventID)
	if l.Open--; l.Open == 0 {
		l.Since = now
	}
	s.Lives.put(d.EventID, l)
}

func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (n int, err error) {
	err = o.s.update(ctx, func(draft *state, _ time.Time) error {
		for _, id := range r.IDs {
			d, ok := draft.Deliveries.get(id)
			if !ok || !d.State.Final() || draft.event(d.EventID).Source.Owner != r.Owner {
				continue
			}
			draft.open(id, d, r.Due, false)
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// open makes a final or new delivery pending. The retention time of its event no longer runs.
func (s *state) open(id string, d delivery, due time.Time, isNew bool) {
	d.State, d.Due, d.Uncounted, d.Waited, d.Orphaned = deliver.StatePending, due, len(d.Log), 0, false
	s.Deliveries.put(id, d)
	l, _ := s.Lives.get(d.EventID)
	l.Open++
	if isNew {
		l.Deliveries = append(slices.Clip(l.Deliveries), id)
	}
	s.Lives.put(d.EventID, l)
}

func (o outbox) NextDue(ctx context.Context, _ *fleet.Set) (next time.Time, open bool, err error) {
	err = o.s.view(ctx, func(st *state, _ time.Time) {
		for _, d := range st.Deliveries.all() {
			if !d.State.Final() && (!open || d.Due.Before(next)) {
				next, open = d.Due, true
			}
		}
	})
	return next, open, err
}
