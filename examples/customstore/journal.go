package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

// recorded is what Commit tells about a batch.
type recorded struct {
	seqs       []uint64 // sequence numbers of its events, 0 for an event that was known or refused
	deliveries []deliver.Delivery
	unpaid     []string
}

func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	told := make([]recorded, len(batches))
	var at time.Time
	err := j.s.update(ctx, func(draft *state, now time.Time) error {
		at = now
		draft.expire(now)
		for i, b := range batches {
			if err := b.Validate(); err != nil {
				return err
			}
			if err := draft.commit(b, now, &told[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, b := range batches {
		for k, seq := range told[i].seqs {
			if b.Events[k].Seq = seq; seq != 0 {
				b.Events[k].CommittedAt = at
			}
		}
		b.Deliveries = append(b.Deliveries, told[i].deliveries...)
		b.Unpaid = append(b.Unpaid, told[i].unpaid...)
	}
	return nil
}

func (s *state) commit(b *detect.Batch, now time.Time, told *recorded) error {
	if b.Cursor != nil {
		s.Cursors.put(b.Cursor.Target, *b.Cursor)
	}
	for _, ev := range b.Events {
		if _, known := s.Lives.get(ev.ID); known || s.refused(ev.Source.Owner, now) {
			told.seqs = append(told.seqs, 0)
			continue
		}
		o, _ := s.Owners.get(ev.Source.Owner)
		o.Seq++
		s.Owners.put(ev.Source.Owner, o)
		ev.Seq, ev.CommittedAt = o.Seq, now
		s.Events.put(ev.ID, ev)

		l := life{Since: now}
		for _, to := range s.receivers(&ev) {
			id := deliver.DeliveryID(ev.ID, to)
			if slices.Contains(l.Deliveries, id) {
				continue // a handler that is named twice
			}
			d := delivery{N: s.number(ev.Source.Owner), EventID: ev.ID, EndpointID: to, State: deliver.StatePending, Due: b.DeliverBy, CreatedAt: now}
			s.Deliveries.put(id, d)
			l.Deliveries = append(l.Deliveries, id)
			told.deliveries = append(told.deliveries, s.delivery(id, d))
		}
		l.Open = len(l.Deliveries)
		s.Lives.put(ev.ID, l)
		told.seqs = append(told.seqs, ev.Seq)
	}
	for _, e := range b.Charges {
		if s.refused(e.Owner, now) {
			continue
		}
		err := s.post(e, now)
		if errors.Is(err, billing.ErrInsufficient) || errors.Is(err, billing.ErrAmount) {
			told.unpaid = append(told.unpaid, e.ID)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// receivers returns the ids of the active endpoints of the event's source, oldest first, and then of
// the event's handlers.
func (s *state) receivers(ev *deliver.Event) (ids []string) {
	src := record.Key{Kind: record.Kind(ev.Source.Kind), ID: ev.Source.ID}
	for _, r := range s.Records.all() {
		if r.Kind == record.Endpoint && r.Owner == ev.Source.Owner && r.Parent == src && r.Status == string(deliver.EndpointActive) {
			ids = append(ids, r.ID)
		}
	}
	for _, name := range ev.Handlers {
		ids = append(ids, deliver.HandlerEndpoint(name))
	}
	return ids
}

func (j journal) Cursors(ctx context.Context, targets ...string) (found []detect.Cursor, err error) {
	err = j.s.view(ctx, func(st *state, _ time.Time) {
		for _, target := range targets {
			if c, ok := st.Cursors.get(target); ok {
				c.Gaps = slices.Clone(c.Gaps)
				found = append(found, c)
			}
		}
	})
	return found, err
}
