package memory

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

// event is a retained event with its deliveries.
type event struct {
	key        key
	owner      *account
	seq        uint64
	ev         *deliver.Event // read-only; nil once removed
	deliveries []*delivery
	open       int       // deliveries that are not final
	settledAt  time.Time // when open became 0
}

// delivery is the record behind a deliver.Delivery.
type delivery struct {
	id         string
	endpointID string
	event      *event
	state      deliver.State
	due        time.Time
	createdAt  time.Time
	attempts   []deliver.Attempt
	uncounted  int           // see deliver.Delivery
	waited     time.Duration // see deliver.Delivery
	orphaned   bool          // its endpoint's deletion ended it

	n     uint64 // counts deliveries: who came first among those due at once
	index int    // in its lane
}

// view is the delivery as callers see it.
func (d *delivery) view() deliver.Delivery {
	return deliver.Delivery{
		ID: d.id, EndpointID: d.endpointID, Event: d.event.ev, State: d.state,
		Attempts: len(d.attempts), Uncounted: d.uncounted, Waited: d.waited, EndpointDeleted: d.orphaned, Due: d.due, CreatedAt: d.createdAt,
	}
}

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
	s.expire(now) // what reservations held is there for the charges
	for _, b := range batches {
		s.commit(b, now)
	}
	s.retain(now)
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

// commit applies a checked batch; nothing in it can fail.
func (s *Store) commit(b *detect.Batch, now time.Time) {
	if b.Cursor != nil {
		c := *b.Cursor
		c.Gaps = slices.Clone(c.Gaps)
		s.cursors[c.Target] = c
	}
	for i := range b.Events {
		b.Events[i].Seq = 0
		e := s.record(b.Events[i], now)
		if e == nil {
			continue
		}
		b.Events[i].Seq, b.Events[i].CommittedAt = e.seq, now
		s.addressees(e.ev, func(endpointID string) {
			if d := s.deliverTo(e, endpointID, b.DeliverBy, now); d != nil {
				b.Deliveries = append(b.Deliveries, d.view())
			}
		})
		if e.open == 0 {
			s.settle(e, now)
		}
	}
	for _, c := range b.Charges {
		if err := s.post(c); err != nil {
			b.Unpaid = append(b.Unpaid, c.ID)
		}
	}
}

// record stores a new event under the owner's next sequence number, or gives
// nil when its id is known.
func (s *Store) record(ev deliver.Event, now time.Time) *event {
	k := keyOf(ev.ID)
	if s.events[k] != nil || s.removed.has(k) {
		return nil
	}
	a := s.account(ev.Source.Owner)
	a.seq++
	ev.Seq, ev.CommittedAt = a.seq, now
	ev.Handlers = slices.Clone(ev.Handlers)
	e := &event{key: k, owner: a, seq: a.seq, ev: &ev}
	s.events[k] = e
	a.events = append(a.events, e)
	return e
}

// addressees names the endpoints that get the event: those bound to its source,
// in order of creation, then its handlers.
func (s *Store) addressees(ev *deliver.Event, each func(endpointID string)) {
	for _, r := range s.bound[sourceKey{ev.Source.Owner, ev.Source.ID}] {
		if r.rec.Status == deliver.EndpointActive {
			each(r.rec.ID)
		}
	}
	for _, name := range ev.Handlers {
		each(deliver.HandlerEndpoint(name))
	}
}

// deliverTo makes the event's delivery to an endpoint, or gives nil when there
// is one, as for a handler named twice.
func (s *Store) deliverTo(e *event, endpointID string, due, now time.Time) *delivery {
	id := deliver.DeliveryID(e.ev.ID, endpointID)
	if s.deliveries[id] != nil {
		return nil
	}
	s.open.last++
	d := &delivery{
		id: id, endpointID: endpointID, event: e,
		state: deliver.StatePending, due: due, createdAt: now, n: s.open.last,
	}
	s.deliveries[id] = d
	e.deliveries = append(e.deliveries, d)
	e.open++
	s.open.add(d)
	return d
}
