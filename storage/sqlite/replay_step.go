package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// replaySpan is how many events a step of a replay looks at.
const replaySpan = 1024

// replayed is an event that a step looks at.
type replayed struct {
	seq   uint64
	n     int64
	ours  bool          // of the replay's source
	had   sql.NullInt64 // its delivery to the endpoint
	state sql.NullString
	place int64 // where a new delivery goes
}

func (rs replays) Step(ctx context.Context, q deliver.ReplayStep) (r deliver.Replay, made []deliver.Delivery, err error) {
	err = rs.s.write(ctx, func(t *tx) error {
		r, err = t.replayAt(&q)
		if err != nil {
			return err
		}
		if err := t.enterAll(); err != nil {
			return err
		}
		events, err := t.replayEvents(&r, rs.s.forgottenUntil())
		if err != nil {
			return err
		}
		var create, reopen []replayed
		taken := 0
		for _, e := range events {
			send := e.ours && (!e.had.Valid || deliver.State(e.state.String) == deliver.StateFailed)
			if send && len(create)+len(reopen) >= max(q.Limit, 1) {
				break
			}
			switch {
			case send && e.had.Valid:
				reopen = append(reopen, e)
			case send:
				create = append(create, e)
			case e.ours:
				r.Left++
			}
			r.Removed += e.seq - r.Cursor - 1
			r.Cursor = e.seq
			taken++
		}
		r.Created += len(create)
		r.Reopened += len(reopen)
		if taken == len(events) && taken < replaySpan {
			r.Removed += r.Last - r.Cursor
			r.Cursor, r.State = r.Last, deliver.ReplayDone
		}
		r.Due, r.UpdatedAt = q.DeliverBy, q.Now
		made, err = t.replay(&r, create, reopen)
		return err
	})
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	return r, made, nil
}

// replayAt gives the replay if the step may be made.
func (t *tx) replayAt(q *deliver.ReplayStep) (deliver.Replay, error) {
	r, found, err := replayOf(t, q.EndpointID)
	switch {
	case err != nil:
		return r, err
	case !found || r.Owner != q.Owner:
		return r, deliver.ErrReplayNotFound
	case r.ID != q.ID || r.Cursor != q.Cursor || r.State != deliver.ReplayRunning:
		return r, deliver.ErrReplayConflict
	}
	e, err := endpointOf(t, q.Owner, q.EndpointID)
	if err == nil && e.Status != deliver.EndpointActive {
		err = deliver.ErrReplayWaits
	}
	return r, err
}

// enterAll puts late events in their places, as enter does, and saves that.
func (t *tx) enterAll() error {
	if len(t.late.events) == 0 {
		return nil
	}
	if err := t.enter(); err != nil {
		return err
	}
	return t.exec(`UPDATE totals SET events = ?, entered = ?`, t.w.known.events+t.events, t.late.entered)
}

// replayEvents gives the owner's next events, without those that are past their
// retention.
func (t *tx) replayEvents(r *deliver.Replay, forgottenUntil int64) (events []replayed, err error) {
	err = each(t, `SELECT e.seq, e.n, e.source_id = ?1, d.n, d.state,
			(SELECT coalesce(max(p.n) + 1, e.n << 16) FROM deliveries p WHERE `+ofEvent("p.n", "e.n")+`)
		FROM events e LEFT JOIN deliveries d ON `+ofEvent("d.n", "e.n")+` AND d.endpoint_id = ?6
		WHERE e.owner = ?3 AND e.seq > ?4 AND e.seq <= ?5 AND e.n `+notForgotten+` ORDER BY e.seq LIMIT `+fmt.Sprint(replaySpan),
		[]any{r.SourceID, forgottenUntil, r.Owner, int64(r.Cursor), int64(r.Last), r.EndpointID}, func(rows *sql.Rows) error {
			var e replayed
			err := rows.Scan(&e.seq, &e.n, &e.ours, &e.had, &e.state, &e.place)
			events = append(events, e)
			return wrap(err)
		})
	return events, err
}

// replay makes and reopens deliveries, moves the replay, and gives what is to be
// sent, in the order of the events.
func (t *tx) replay(r *deliver.Replay, create, reopen []replayed) ([]deliver.Delivery, error) {
	due := nanos(r.Due)
	var ns, settled []int64
	for _, e := range slices.Concat(create, reopen) {
		open := 0
		err := each(t, `SELECT id FROM deliveries WHERE `+ofEvent("n", "?1")+` AND due_at IS NOT NULL`, []any{e.n}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			delete(t.w.known.opened, id) // it is not alone any more
			open++
			return wrap(err)
		})
		if err != nil {
			return nil, err
		}
		if open == 0 {
			settled = append(settled, e.n)
		}
	}
	if err := t.unsettle(settled); err != nil {
		return nil, err
	}
	er := newEventReader()
	for _, e := range create {
		er.want(e.n)
		ns = append(ns, e.place)
	}
	if err := er.unpack(t); err != nil {
		return nil, err
	}
	var rows []any
	for _, e := range create {
		if e.place >= firstDelivery(e.n+1) {
			return nil, fmt.Errorf("sqlite: event with more than %d deliveries is not allowed", maxDeliveries)
		}
		rows = append(rows, e.place, deliver.DeliveryID(er.events[e.n].ID, r.EndpointID), r.EndpointID, due)
		t.opened = slices.DeleteFunc(t.opened, func(d openedDelivery) bool { return d.n>>placeBits == e.n })
	}
	if err := t.execRows(`INSERT INTO deliveries (n, id, endpoint_id, due_at) VALUES {rows}`, 4, rows); err != nil {
		return nil, err
	}
	var again []int64
	for _, e := range reopen {
		again = append(again, e.had.Int64)
	}
	if len(again) > 0 {
		if err := t.reopen(again, due); err != nil {
			return nil, err
		}
	}
	crashpoint.Hit("sqlite.replay.made")
	if err := t.keepReplay(r); err != nil {
		return nil, err
	}
	ns = append(ns, again...)
	slices.Sort(ns)
	return t.deliveries(ns)
}

var errFound = errors.New("found")

// unsettle takes events out of the list of those without an open delivery.
// They were settled when they were committed or later, unless the clock stepped
// back; most of them soon.
func (t *tx) unsettle(events []int64) error {
	if len(events) == 0 {
		return nil
	}
	slices.Sort(events)
	var since sql.NullInt64
	if _, err := one(t, `SELECT json_extract(fields, '$[' || (?1 & 1023) || '][2]') FROM packs WHERE n = ?1 >> 10`, []any{events[0]}, &since); err != nil {
		return err
	}
	type row struct{ at, first, last int64 }
	var found []row
	missing := len(events)
	look := func(query string, from int64) error {
		err := each(t, query, []any{from}, func(rows *sql.Rows) error {
			var r row
			if err := rows.Scan(&r.at, &r.first, &r.last); err != nil {
				return wrap(err)
			}
			i, _ := slices.BinarySearch(events, r.first)
			k, exact := slices.BinarySearch(events, r.last)
			if exact {
				k++
			}
			if k > i {
				found = append(found, r)
				if missing -= k - i; missing == 0 {
					return errFound
				}
			}
			return nil
		})
		if errors.Is(err, errFound) {
			err = nil
		}
		return err
	}
	err := look(`SELECT settled_at, first, last FROM settled WHERE settled_at >= ? ORDER BY settled_at, first`, since.Int64)
	if err == nil && missing > 0 {
		err = look(`SELECT settled_at, first, last FROM settled WHERE settled_at < ? ORDER BY settled_at DESC, first DESC`, since.Int64)
	}
	var left []any
	for _, r := range found {
		if err == nil {
			err = t.exec(`DELETE FROM settled WHERE settled_at = ? AND first = ?`, r.at, r.first)
		}
		next := r.first
		for i, _ := slices.BinarySearch(events, r.first); i < len(events) && events[i] <= r.last; i++ {
			if next < events[i] {
				left = append(left, r.at, next, events[i]-1)
			}
			next = events[i] + 1
		}
		if next <= r.last {
			left = append(left, r.at, next, r.last)
		}
	}
	if err != nil {
		return err
	}
	return t.execRows(`INSERT INTO settled (settled_at, first, last) VALUES {rows}`, 3, left)
}
