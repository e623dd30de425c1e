package sqlstore

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// replays implements deliver.Replays. A record is stored as JSON.
type replays struct{ *Store }

func (rs replays) Start(ctx context.Context, r deliver.Replay) error {
	return rs.Write(ctx, func(t Tx) error {
		if err := rs.LockOwners(t, r.Owner); err != nil {
			return err
		}
		if _, err := endpointStatus(t, r.Owner, r.EndpointID); err != nil {
			return err
		}
		had, found, err := replayOf(t, r.EndpointID)
		switch {
		case err != nil || found && had.ID == r.ID:
			return err
		case found && had.State == deliver.ReplayRunning:
			return deliver.ErrReplayRunning
		}
		return keepReplay(t, &r)
	})
}

func (rs replays) Get(ctx context.Context, owner, endpointID string) (r deliver.Replay, err error) {
	err = rs.Read(ctx, func(q Querier) error {
		var found bool
		r, found, err = replayOf(q, endpointID)
		if err == nil && (!found || r.Owner != owner) {
			err = deliver.ErrReplayNotFound
		}
		return err
	})
	if err != nil {
		return deliver.Replay{}, err
	}
	return r, nil
}

func (rs replays) Running(ctx context.Context, now time.Time, limit int) ([]deliver.Replay, error) {
	var due []deliver.Replay
	err := rs.Read(ctx, func(q Querier) (err error) {
		due, err = all(q, `SELECT record FROM replays WHERE due_at <= ? ORDER BY due_at, endpoint_id LIMIT ?`, []any{nanos(now), max(limit, 0)},
			func(rows Rows, r *deliver.Replay) error { return rows.Scan(JSON{r}) })
		return err
	})
	return due, err
}

// endpointStatus returns the status of an endpoint, or deliver.ErrEndpointNotFound.
func endpointStatus(q Querier, owner, id string) (status deliver.EndpointStatus, err error) {
	found, err := One(q, `SELECT status FROM records WHERE kind = 'endpoint' AND id = ? AND owner = ?`, []any{id, owner}, &status)
	if err == nil && !found {
		err = deliver.ErrEndpointNotFound
	}
	return status, err
}

func replayOf(q Querier, endpointID string) (r deliver.Replay, found bool, err error) {
	found, err = One(q, `SELECT record FROM replays WHERE endpoint_id = ?`, []any{endpointID}, JSON{&r})
	return r, found, err
}

// replayValues returns a row to insert.
func replayValues(r *deliver.Replay) []any {
	var due any
	if r.State == deliver.ReplayRunning {
		due = nanos(r.Due)
	}
	return []any{r.EndpointID, r.Owner, due, JSON{r}}
}

func keepReplay(t Tx, r *deliver.Replay) error {
	return t.Exec(`INSERT INTO replays (endpoint_id, owner, due_at, record) VALUES (?, ?, ?, ?) ON CONFLICT (endpoint_id) DO UPDATE
		SET owner = excluded.owner, due_at = excluded.due_at, record = excluded.record`, replayValues(r)...)
}
