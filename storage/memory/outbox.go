package memory

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// outbox implements deliver.Outbox.
type outbox struct{ s *Store }

func (o outbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	s := o.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	now := r.Now.Round(0) // see queue.add
	claimed := s.events.open.claimable(&r, now)
	out := make([]deliver.Delivery, 0, len(claimed))
	for _, d := range claimed {
		s.events.open.move(d, now.Add(r.Lease))
		out = append(out, d.view())
	}
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
		s.events.conclude(&ss[i], now)
	}
	s.events.retain(now)
	return nil
}

func (o outbox) NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error) {
	s := o.s
	if err := s.lock(ctx); err != nil {
		return time.Time{}, false, err
	}
	defer s.mu.Unlock()
	due, ok := s.events.open.next(parts)
	return due, ok, nil
}

func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	s := o.s
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	n := 0
	for _, id := range r.IDs {
		d := s.events.deliveries[id]
		if d == nil || !d.state.Final() || d.event.ev.Source.Owner != r.Owner {
			continue
		}
		s.events.reopen(d, r.Due)
		n++
	}
	return n, nil
}
