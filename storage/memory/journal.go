package memory

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	s := j.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, b := range batches {
		if err := b.Validate(); err != nil {
			return err
		}
	}
	now := s.opts.Now()
	if err := s.fenced(batches, now); err != nil {
		return err
	}
	s.balances.expire(now) // charges may use the credits of expired reservations
	for _, b := range batches {
		s.commit(b, now)
	}
	s.events.retain(now)
	return nil
}

func (j journal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	s := j.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []detect.Cursor
	for _, t := range targets {
		if c, ok := s.cursors[t]; ok {
			c.Gaps = slices.Clone(c.Gaps)
			found = append(found, c)
		}
	}
	return found, nil
}

// commit applies a valid batch. It cannot fail.
func (s *Store) commit(b *detect.Batch, now time.Time) {
	if b.Cursor != nil {
		c := *b.Cursor
		c.Gaps = slices.Clone(c.Gaps)
		s.cursors[c.Target] = c
	}
	for i := range b.Events {
		b.Events[i].Seq = 0
		if s.records.refused(b.Events[i].Source.Owner, now) {
			continue
		}
		e := s.events.record(b.Events[i], now)
		if e == nil {
			continue
		}
		b.Events[i].Seq, b.Events[i].CommittedAt = e.seq, now
		s.addressees(e.ev, func(endpointID string) {
			due := b.DeliverBy
			if deliver.ViaOf(endpointID) == deliver.ViaWebhook && !b.Lanes.Has(fleet.PartOf(endpointID)) {
				due = now // another engine sends to this endpoint
			}
			if d := s.events.deliverTo(e, endpointID, due, now); d != nil {
				b.Deliveries = append(b.Deliveries, d.view())
			}
		})
		if e.open == 0 {
			s.events.settle(e, now)
		}
	}
	for _, c := range b.Charges {
		if s.records.refused(c.Owner, now) {
			continue
		}
		if err := s.balances.post(c); err != nil {
			b.Unpaid = append(b.Unpaid, c.ID)
		}
	}
}

// addressees calls each for every endpoint that receives the event: first the active endpoints of
// its source, in order of creation, then its handlers.
func (s *Store) addressees(ev *deliver.Event, each func(endpointID string)) {
	s.records.receivers(&ev.Source, each)
	for _, name := range ev.Handlers {
		each(deliver.HandlerEndpoint(name))
	}
}
