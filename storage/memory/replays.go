package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
)

// replays implements deliver.Replays.
type replays struct{ s *Store }

func (rs replays) Start(ctx context.Context, r deliver.Replay) error {
	s := rs.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.endpointStatus(r.Owner, r.EndpointID); !ok {
		return deliver.ErrEndpointNotFound
	}
	had := s.replays[r.EndpointID]
	switch {
	case had == nil || had.ID != r.ID && had.State != deliver.ReplayRunning:
		s.replays[r.EndpointID] = &r
	case had.ID != r.ID:
		return deliver.ErrReplayRunning
	}
	return nil
}

func (rs replays) Get(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	s := rs.s
	if err := s.lock(ctx); err != nil {
		return deliver.Replay{}, err
	}
	defer s.mu.Unlock()
	r := s.replays[endpointID]
	if r == nil || r.Owner != owner {
		return deliver.Replay{}, deliver.ErrReplayNotFound
	}
	return *r, nil
}

func (rs replays) Running(ctx context.Context, now time.Time, limit int) ([]deliver.Replay, error) {
	s := rs.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	due := []deliver.Replay{}
	for _, r := range s.replays {
		if r.State == deliver.ReplayRunning && !r.Due.After(now) {
			due = append(due, *r)
		}
	}
	slices.SortFunc(due, func(a, b deliver.Replay) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.EndpointID, b.EndpointID))
	})
	return due[:min(max(limit, 0), len(due))], nil
}

func (rs replays) Step(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
	s := rs.s
	if err := s.lock(ctx); err != nil {
		return deliver.Replay{}, nil, err
	}
	defer s.mu.Unlock()
	r := s.replays[q.EndpointID]
	status, _ := s.endpointStatus(q.Owner, q.EndpointID)
	switch {
	case r == nil || r.Owner != q.Owner:
		return deliver.Replay{}, nil, deliver.ErrReplayNotFound
	case r.ID != q.ID || r.Cursor != q.Cursor || r.State != deliver.ReplayRunning:
		return deliver.Replay{}, nil, deliver.ErrReplayConflict
	case status != deliver.EndpointActive:
		return deliver.Replay{}, nil, deliver.ErrReplayWaits
	}
	s.events.retain(s.opts.Now())
	made := s.replay(r, &q)
	return *r, made, nil
}

// replay makes one step of r and returns the deliveries to send.
func (s *Store) replay(r *deliver.Replay, q *deliver.ReplayStep) (made []deliver.Delivery) {
	r.Due, r.UpdatedAt = q.DeliverBy, q.Now
	for _, e := range s.events.peek(q.Owner).after(r.Cursor) {
		if e.seq > r.Last {
			break
		}
		if e.ev.Source.ID == r.SourceID {
			d := s.events.deliveries[deliver.DeliveryID(e.ev.ID, r.EndpointID)]
			switch {
			case d != nil && d.state != deliver.StateFailed:
				r.Left++
			case len(made) >= max(q.Limit, 1):
				return made
			case d == nil:
				made = append(made, s.events.deliverLate(e, r.EndpointID, q.DeliverBy).view())
				r.Created++
			default:
				s.events.reopen(d, q.DeliverBy)
				made = append(made, d.view())
				r.Reopened++
			}
		}
		r.Removed += e.seq - r.Cursor - 1
		r.Cursor = e.seq
	}
	r.Removed += r.Last - r.Cursor
	r.Cursor, r.State = r.Last, deliver.ReplayDone
	return made
}

// endpointStatus returns the status of an owner's endpoint, and whether there is one.
func (s *Store) endpointStatus(owner, id string) (deliver.EndpointStatus, bool) {
	if r := s.records.byKey[record.Key{Kind: record.Endpoint, ID: id}]; r != nil && r.rec.Owner == owner {
		return deliver.EndpointStatus(r.rec.Status), true
	}
	return "", false
}
