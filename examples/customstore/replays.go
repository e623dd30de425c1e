package main

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
)

// replays implements deliver.Replays. A step handles all remaining events, up to its limit.
type replays struct{ s *Store }

func (rs replays) Start(ctx context.Context, r deliver.Replay) error {
	return rs.s.update(ctx, func(draft *state, _ time.Time) error {
		if _, err := draft.find(record.Ref{Key: record.Key{Kind: record.Endpoint, ID: r.EndpointID}, Owner: r.Owner}); err != nil {
			return deliver.ErrEndpointNotFound
		}
		had, ok := draft.Replays.get(r.EndpointID)
		switch {
		case ok && had.ID == r.ID:
			return nil
		case ok && had.State == deliver.ReplayRunning:
			return deliver.ErrReplayRunning
		}
		draft.Replays.put(r.EndpointID, r)
		return nil
	})
}

func (rs replays) Get(ctx context.Context, owner, endpointID string) (r deliver.Replay, err error) {
	found := false
	err = rs.s.view(ctx, func(st *state, _ time.Time) { r, found = st.Replays.get(endpointID) })
	if err == nil && (!found || r.Owner != owner) {
		return deliver.Replay{}, deliver.ErrReplayNotFound
	}
	return r, err
}

func (rs replays) Running(ctx context.Context, now time.Time, limit int) (due []deliver.Replay, err error) {
	err = rs.s.view(ctx, func(st *state, _ time.Time) {
		for _, r := range st.Replays.all() {
			if r.State == deliver.ReplayRunning && !r.Due.After(now) {
				due = append(due, r)
			}
		}
	})
	slices.SortStableFunc(due, func(a, b deliver.Replay) int { return a.Due.Compare(b.Due) })
	return due[:min(max(limit, 0), len(due))], err
}

func (rs replays) Step(ctx context.Context, q deliver.ReplayStep) (r deliver.Replay, made []deliver.Delivery, err error) {
	err = rs.s.update(ctx, func(draft *state, _ time.Time) error {
		var ok bool
		r, ok = draft.Replays.get(q.EndpointID)
		switch {
		case !ok || r.Owner != q.Owner:
			return deliver.ErrReplayNotFound
		case r.ID != q.ID || r.Cursor != q.Cursor || r.State != deliver.ReplayRunning:
			return deliver.ErrReplayConflict
		}
		if e, _ := draft.Records.get(recordID(record.Key{Kind: record.Endpoint, ID: q.EndpointID})); e.Status != string(deliver.EndpointActive) {
			return deliver.ErrReplayWaits
		}
		made = draft.replay(&r, &q)
		draft.Replays.put(r.EndpointID, r)
		return nil
	})
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	return r, made, nil
}

// replay makes one step of r and returns the deliveries to send.
func (s *state) replay(r *deliver.Replay, q *deliver.ReplayStep) (made []deliver.Delivery) {
	r.Due, r.UpdatedAt = q.DeliverBy, q.Now
	for eventID, ev := range s.Events.all() { // an owner's are in order
		if ev.Source.Owner != r.Owner || ev.Seq <= r.Cursor || ev.Seq > r.Last {
			continue
		}
		if ev.Source.ID == r.SourceID {
			id := deliver.DeliveryID(eventID, r.EndpointID)
			d, had := s.Deliveries.get(id)
			switch {
			case had && d.State != deliver.StateFailed:
				r.Left++
			case len(made) >= max(q.Limit, 1):
				return made
			default:
				if had {
					r.Reopened++
				} else {
					r.Created++
					d = delivery{N: s.number(ev.Source.Owner), EventID: eventID, EndpointID: r.EndpointID, CreatedAt: ev.CommittedAt}
				}
				s.open(id, d, q.DeliverBy, !had)
				d, _ = s.Deliveries.get(id)
				made = append(made, s.delivery(id, d))
			}
		}
		r.Removed += ev.Seq - r.Cursor - 1
		r.Cursor = ev.Seq
	}
	r.Removed += r.Last - r.Cursor
	r.Cursor, r.State = r.Last, deliver.ReplayDone
	return made
}
