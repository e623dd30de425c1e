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

// Replay sends an endpoint every event of its monitor or rule that was committed
// at since or later and before until, and was not delivered to it: also those
// committed while it was disabled or before it existed, with the delivery ids and
// bytes they would have had. What is open is left to its own delivery, what failed
// is sent again once. A zero since means from the first event that is stored; a zero
// until, and one in the future, up to the newest.
//
// The result is how the replay begins. It is stored, and the dispatcher carries it
// out in the order of the events, in steps that leave what is detected meanwhile
// its place before them; after a restart it goes on where it was. Replaying shows
// how far it is. Asking again for a range of the replay that is running answers
// with that one, and for another range with ErrReplayRunning. Once it is done, the
// same range again makes nothing new, but sends again what has failed since.
//
// The endpoint must be active and not paused: a *FieldError says if not,
// ErrEndpointNotFound that it is gone. One that is disabled or paused later keeps its
// replay, which goes on when the endpoint receives again. Events that retention has removed cannot be sent: Replay.Removed.
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
	d.Flush(ctx) // what has just ended is not open any more
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
			return had, nil // it may have ended meanwhile
		case had.State != deliver.ReplayDone:
			return had, err
		}
	}
	if err != nil {
		return deliver.Replay{}, err
	}
	return r, nil
}

// Replaying tells how far an endpoint's replay is, or how its last one ended;
// ErrReplayNotFound when there was none.
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

// before gives the number of the last event that is stored and was committed
// before t, or of the last of all when t is zero or no later one is stored; 0 for
// none. Events are committed in the order of their numbers, so few are read.
func (m *Manager) before(ctx context.Context, owner string, t time.Time) (uint64, error) {
	if t.IsZero() {
		t = time.Unix(math.MaxInt32, 0).AddDate(200, 0, 0)
	}
	// next gives the first event above a number: 0 when there is none before t.
	next := func(after uint64) (uint64, error) {
		evs, err := m.cfg.Log.Events(ctx, owner, after, 1)
		if err != nil || len(evs) == 0 || !evs[0].CommittedAt.Before(t) {
			return 0, err
		}
		return evs[0].Seq, nil
	}
	var known, step uint64 = 0, 1 // known is stored and before t
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
