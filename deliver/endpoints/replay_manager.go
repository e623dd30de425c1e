package endpoints

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Replay sends an endpoint every event of its monitor or rule that was committed at
// since or later and before until, and was not delivered to it. These include events
// committed while it was disabled or before it existed; they get the delivery ids and
// bytes they would have had. Open deliveries do not change, failed ones are sent again
// once. A zero since means from the first stored event; a zero until, and one in the
// future, up to the newest.
//
// Replay stores the replay and returns it before its first step. The dispatcher carries
// it out in the order of the events, in steps that let new deliveries go first; after a
// restart it goes on where it was. Replaying returns its progress. While the replay is
// running, a call for a range within its own returns it, and a call for another range
// ErrReplayRunning. Once it is done, a replay of the same range makes no new deliveries,
// but sends those again that have failed since.
//
// The endpoint must be active and not paused: else the error is a *FieldError, or
// ErrEndpointNotFound if it is gone. If it is disabled or paused later, its replay goes
// on when it receives again. Events that retention has removed cannot be sent:
// Replay.Removed counts them.
func (m *Manager) Replay(ctx context.Context, owner, id string, since, until time.Time) (deliver.Replay, error) {
	d := m.cfg.Dispatcher
	if m.cfg.Log == nil {
		return deliver.Replay{}, errNoLog
	}
	now := m.now()
	switch {
	case since.After(now):
		return deliver.Replay{}, invalid.Field("deliver", "since", since.Format(time.RFC3339), "a time that is not in the future")
	case !until.IsZero() && !until.After(since):
		return deliver.Replay{}, invalid.Field("deliver", "until", until.Format(time.RFC3339), "a time after since")
	}
	if err := m.receives(ctx, owner, id); err != nil {
		return deliver.Replay{}, err
	}
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return deliver.Replay{}, err
	}
	r := deliver.Replay{ID: "rpl_" + strings.ToLower(rand.Text()), Owner: owner, EndpointID: id, SourceID: e.Source.ID,
		Since: since.UTC().Round(0), Until: until.UTC().Round(0), State: deliver.ReplayRunning, Due: now, CreatedAt: now, UpdatedAt: now}
	if !since.IsZero() {
		r.After, err = m.before(ctx, owner, since)
	}
	if err == nil {
		r.Last, err = m.before(ctx, owner, until)
	}
	if err != nil {
		return deliver.Replay{}, err
	}
	r.Last = max(r.Last, r.After)
	if r.Cursor = r.After; r.Cursor == r.Last {
		r.State = deliver.ReplayDone
	}
	for {
		err = d.StartReplay(ctx, r)
		if !errors.Is(err, deliver.ErrReplayRunning) {
			break
		}
		had, gone := d.Replay(ctx, owner, id)
		switch {
		case gone != nil:
			return deliver.Replay{}, gone
		case had.Since.Equal(r.Since) && had.Until.Equal(r.Until) || had.After <= r.After && r.Last <= had.Last:
			return had, nil // which may be done by now
		case had.State != deliver.ReplayDone:
			return had, err
		}
	}
	if err != nil {
		return deliver.Replay{}, err
	}
	return r, nil
}

// Replaying returns an endpoint's replay, running or done. It returns ErrReplayNotFound if
// there was none.
func (m *Manager) Replaying(ctx context.Context, owner, id string) (deliver.Replay, error) {
	e, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil && !errors.Is(err, deliver.ErrSealed) {
		return deliver.Replay{}, err
	}
	r, err := m.cfg.Dispatcher.Replay(ctx, owner, id)
	if err != nil || r.State == deliver.ReplayDone {
		return r, err
	}
	switch {
	case e.Status == deliver.EndpointDisabled:
		r.Waits = "the endpoint is not active"
	case !e.PausedSince.IsZero():
		r.Waits = "the endpoint is paused"
	}
	return r, nil
}

// before returns the number of the last stored event that was committed before t, of all
// stored events if t is zero; 0 for none. Events are committed in the order of their
// numbers, so it finds the event by doubling and then halving a step, with few reads.
func (m *Manager) before(ctx context.Context, owner string, t time.Time) (uint64, error) {
	if t.IsZero() {
		t = time.Unix(math.MaxInt32, 0).AddDate(200, 0, 0)
	}
	// next returns the first event above a number if it is before t, else 0.
	next := func(after uint64) (uint64, error) {
		evs, err := m.cfg.Log.Events(ctx, owner, after, 1)
		if err != nil || len(evs) == 0 || !evs[0].CommittedAt.Before(t) {
			return 0, err
		}
		return evs[0].Seq, nil
	}
	var known, step uint64 = 0, 1 // known is the number of a stored event before t, 0 for none yet
	for rising := true; step > 0; {
		seq, err := next(known + step - 1)
		if err != nil {
			return 0, err
		}
		switch {
		case seq > 0:
			known = seq
			if rising {
				step *= 2
			}
		default:
			rising = false
			step /= 2
		}
	}
	return known, nil
}
