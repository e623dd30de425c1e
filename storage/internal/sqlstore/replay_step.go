package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
)

// replaySpan is the maximum number of events that a step of a replay looks at, because a step blocks
// all other writes.
const replaySpan = 256

// replayed is an event that a step looks at.
type replayed struct {
	seq   uint64
	n     int64
	id    string
	kept  bool           // it is not past its retention
	ours  bool           // it belongs to the replay's source
	had   sql.NullInt64  // number of its delivery to the endpoint
	state sql.NullString // of that delivery
	place int64          // number for a new delivery of the event
}

func (rs replays) Step(ctx context.Context, q deliver.ReplayStep) (r deliver.Replay, made []deliver.Delivery, err error) {
	if rs.Refuse != nil {
		return r, nil, rs.Refuse
	}
	err = rs.Write(ctx, func(t Tx) error {
		if err := rs.LockOwners(t, q.Owner); err != nil {
			return err
		}
		r, err = replayAt(t, &q)
		if err != nil {
			return err
		}
		if err := lock(t, rs.LockReplayed, r.Owner, int64(r.Cursor), int64(r.Last)); err != nil {
			return err
		}
		var create, reopen []replayed
		looked := 0
		err = eachReplayed(t, &r, rs.expired(), func(e replayed) error {
			send := e.kept && e.ours && (!e.had.Valid || deliver.State(e.state.String) == deliver.StateFailed)
			if send && len(create)+len(reopen) >= max(q.Limit, 1) {
				return errEnough
			}
			r.Removed += e.seq - r.Cursor - 1
			r.Cursor = e.seq
			looked++
			switch {
			case !e.kept:
				r.Removed++
			case send && e.had.Valid:
				reopen = append(reopen, e)
			case send:
				create = append(create, e)
			case e.ours:
				r.Left++
			}
			return nil
		})
		if err != nil && err != errEnough {
			return err
		}
		r.Created += len(create)
		r.Reopened += len(reopen)
		if err == nil && looked < replaySpan {
			r.Removed += r.Last - r.Cursor
			r.Cursor = r.Last
		}
		if r.Cursor == r.Last {
			r.State = deliver.ReplayDone
		}
		r.Due, r.UpdatedAt = q.DeliverBy, q.Now
		made, err = rs.replay(t, &r, create, reopen)
		return err
	})
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	return r, made, nil
}

// replayAt returns the replay, or an error if the step must be refused.
func replayAt(t Tx, q *deliver.ReplayStep) (deliver.Replay, error) {
	r, found, err := replayOf(t, q.EndpointID)
	switch {
	case err != nil:
		return r, err
	case !found || r.Owner != q.Owner:
		return r, deliver.ErrReplayNotFound
	case r.ID != q.ID || r.Cursor != q.Cursor || r.State != deliver.ReplayRunning:
		return r, deliver.ErrReplayConflict
	}
	status, err := endpointStatus(t, q.Owner, q.EndpointID)
	if err == nil && status != deliver.EndpointActive {
		err = deliver.ErrReplayWaits
	}
	return r, err
}

// errEnough makes each stop reading rows.
var errEnough = errors.New("sqlstore: enough rows")

// eachReplayed calls look for the owner's next events, up to replaySpan, until it returns an error.
// It reads a row only when the step needs it.
func eachReplayed(t Tx, r *deliver.Replay, expired int64, look func(replayed) error) error {
	return each(t, `SELECT e.seq, e.n, e.id, `+retained("e.n", "?2")+`, e.source_id = ?1, d.n, d.state,
			(SELECT coalesce(max(p.n) + 1, e.n << `+fmt.Sprint(placeBits)+`) FROM deliveries p WHERE `+ofEvent("p.n", "e.n")+`)
		FROM events e LEFT JOIN deliveries d ON `+ofEvent("d.n", "e.n")+` AND d.endpoint_id = ?6
		WHERE e.owner = ?3 AND e.seq > ?4 AND e.seq <= ?5 ORDER BY e.seq LIMIT `+fmt.Sprint(replaySpan),
		[]any{r.SourceID, expired, r.Owner, int64(r.Cursor), int64(r.Last), r.EndpointID}, func(rows Rows) error {
			var e replayed
			if err := rows.Scan(&e.seq, &e.n, &e.id, &e.kept, &e.ours, &e.had, &e.state, &e.place); err != nil {
				return err
			}
			return look(e)
		})
}

// replay creates and reopens deliveries, stores the replay, and returns the deliveries in order
// of their events.
func (s *Store) replay(t Tx, r *deliver.Replay, create, reopened []replayed) ([]deliver.Delivery, error) {
	var ns, again []int64
	var rows []any
	for _, e := range create {
		if e.place >= firstDelivery(e.n+1) {
			return nil, fmt.Errorf("%s: event with more than %d deliveries is not allowed", s.Name, maxDeliveries)
		}
		ns = append(ns, e.place)
		rows = s.deliveryValues(rows, e.place, &deliver.Delivery{
			ID: deliver.DeliveryIDInEpoch(s.DeliveryEpoch, e.id, r.EndpointID), EndpointID: r.EndpointID, Due: r.Due})
	}
	for _, e := range reopened {
		again = append(again, e.had.Int64)
	}
	if err := unsettle(t, ns); err != nil {
		return nil, err
	}
	if err := t.ExecRows(s.insertDeliveries(), rows); err != nil {
		return nil, err
	}
	if err := reopen(t, again, nanos(r.Due)); err != nil {
		return nil, err
	}
	if err := keepReplay(t, r); err != nil {
		return nil, err
	}
	ns = append(ns, again...)
	slices.Sort(ns)
	return openDeliveries(t, ns)
}
