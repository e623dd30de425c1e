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

// Replay sends an endpoint the events of its monitor or rule that were not delivered to it and were
// committed at since or later and before until. This includes events committed while the endpoint
// was disabled or before it existed; they have the ids and bytes that they would have had then.
// Open deliveries do not change. Failed deliveries are sent again once. A zero since means the first
// stored event. An until that is zero or in the future means the newest event.
//
// Replay stores the replay and returns it before its first step. The dispatcher carries it out in
// steps, in the order of the events, and sends new deliveries first. It continues after a restart.
// Replaying returns the progress. While a replay is running, Replay returns it for a range within
// its range, and ErrReplayRunning for any other range. When it is done, a replay of the same range
// sends only deliveries that have failed since.
//
// Replay returns a *FieldError if the endpoint is disabled or paused, and ErrEndpointNotFound if it
// was deleted. If the endpoint is disabled or paused later, its replay waits until it is active
// again. Events that retention has removed cannot be sent: Replay.Removed counts them.
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
	e, err := m.receives(ctx, owner, id)
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
	if r.Cursor = r.After; r.Cursor >= r.Last {
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
			return had, nil // it may be done by now
		case had.State != deliver.ReplayDone:
			return had, err
		}
	}
	if err != nil {
		return deliver.Replay{}, err
	}
	return r, nil
}

// Replaying returns an endpoint's replay, running or done. It returns ErrReplayNotFound if the
// endpoint never had one.
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

// before returns the number of the last stored event committed before t, or 0 if there is none. A
// zero t means the last stored event. Numbers have the order of the commits, so before searches
// with a step that it first doubles and then divides by two.
func (m *Manager) before(ctx context.Context, owner string, t time.Time) (uint64, error) {
	if t.IsZero() {
		t = time.Unix(math.MaxInt32, 0).AddDate(200, 0, 0)
	}
	// next returns the number of the first stored event above after, or 0 if there is none or it
	// was not committed before t.
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
