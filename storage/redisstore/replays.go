package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// replays implements deliver.Replays.
type replays struct{ s *Store }

// replayError returns the error for the first word of a reply.
func replayError(out []any, err error) error {
	if err != nil {
		return err
	}
	switch text(out[0]) {
	case "running":
		return deliver.ErrReplayRunning
	case "conflict":
		return deliver.ErrReplayConflict
	case "waits":
		return deliver.ErrReplayWaits
	case "unknown":
		return deliver.ErrReplayNotFound
	}
	return nil
}

func (rs replays) Start(ctx context.Context, r deliver.Replay) error {
	fixed, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	state := "r"
	if r.State != deliver.ReplayRunning {
		state = "d"
	}
	err = replayError(rs.s.run(ctx, "replays_start", r.EndpointID, escaped(r.Owner), escaped(r.Owner), r.ID, state,
		r.Cursor, r.Last, r.Created, r.Reopened, r.Left, r.Removed, stamp(r.Due), stamp(r.UpdatedAt), fixed))
	if errors.Is(err, deliver.ErrReplayNotFound) {
		return deliver.ErrEndpointNotFound
	}
	return err
}

func (rs replays) Get(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	out, err := rs.s.run(ctx, "replays_get", endpointID, escaped(owner))
	if err := replayError(out, err); err != nil {
		return deliver.Replay{}, err
	}
	return decodeReplay(text(out[1]))
}

// decodeReplay decodes a replay stored by lua/replay.lua. Some values are both in a field and in
// the record; those in the fields are the current ones.
func decodeReplay(stored string) (r deliver.Replay, err error) {
	var owner, id, state, cursor, last, created, reopened, left, removed, due, updated, fixed string
	if _, err := cutFields(stored, &owner, &id, &state, &cursor, &last, &created, &reopened, &left, &removed, &due, &updated, &fixed); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(fixed), &r); err != nil {
		return r, fmt.Errorf("redisstore: stored replay: %w", err)
	}
	r.State = deliver.ReplayRunning
	if state == "d" {
		r.State = deliver.ReplayDone
	}
	var errs [7]error
	r.Cursor, errs[0] = strconv.ParseUint(cursor, 10, 64)
	r.Created, errs[1] = strconv.Atoi(created)
	r.Reopened, errs[2] = strconv.Atoi(reopened)
	r.Left, errs[3] = strconv.Atoi(left)
	r.Removed, errs[4] = strconv.ParseUint(removed, 10, 64)
	r.Due, errs[5] = fromStamp(due)
	r.UpdatedAt, errs[6] = fromStamp(updated)
	return r, errors.Join(errs[:]...)
}

func (rs replays) Running(ctx context.Context, now time.Time, limit int) ([]deliver.Replay, error) {
	out, err := rs.s.run(ctx, "replays_running", stamp(now), max(limit, 0))
	if err != nil {
		return nil, err
	}
	stored := list(out[0])
	due := make([]deliver.Replay, len(stored)/2)
	for i := range due {
		if due[i], err = decodeReplay(text(stored[2*i+1])); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// Step reads the next events, then runs a script that stores their deliveries. Go code makes the
// deliveries, because scripts cannot compute their ids, which are hashes.
func (rs replays) Step(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
	r, err := rs.Get(ctx, q.Owner, q.EndpointID)
	if err == nil && (r.ID != q.ID || r.Cursor != q.Cursor || r.State != deliver.ReplayRunning) {
		err = deliver.ErrReplayConflict
	}
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	evs, stop, err := deliveryLog(rs).next(ctx, r.Owner, r.Cursor, r.Last)
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	owner, lane := escaped(r.Owner), laneOf(r.EndpointID)
	events := make(map[string]*deliver.Event)
	args := append(make([]any, 0, 10+4*len(evs)), r.EndpointID, owner, lane, r.ID, r.Cursor,
		stamp(q.DeliverBy), stamp(q.Now), max(q.Limit, 1), stop, len(evs))
	for i := range evs {
		ev := &evs[i]
		if ev.Source.ID != r.SourceID {
			args = append(args, ev.Seq, ev.ID, "", "")
			continue
		}
		events[ev.ID] = ev
		args = append(args, ev.Seq, ev.ID, deliver.DeliveryID(ev.ID, r.EndpointID), appendDelivery(ev, owner, lane, ev.CommittedAt))
	}
	out, err := rs.s.run(ctx, "replays_step", args...)
	if err := replayError(out, err); err != nil {
		return deliver.Replay{}, nil, err
	}
	if r, err = decodeReplay(text(out[1])); err != nil {
		return r, nil, err
	}
	var made []deliver.Delivery
	ids, stored := list(out[2]), list(out[3])
	for i := range stored {
		if stored[i] == nil {
			continue
		}
		d, err := decodeDelivery(text(ids[i]), text(stored[i]), events)
		if err != nil {
			return r, nil, err
		}
		if d.Event != nil && d.Due.Equal(r.Due) { // otherwise it was claimed or settled in the meantime
			made = append(made, d)
		}
	}
	return r, made, nil
}

// next returns the owner's next events: those with numbers above after and up to last, at most as
// many as one script returns. stop is the last number that the script looked at.
func (l deliveryLog) next(ctx context.Context, owner string, after, last uint64) (evs []deliver.Event, stop uint64, err error) {
	out, err := l.s.run(ctx, "log_events", escaped(owner), after+1, eventChunk)
	if err != nil {
		return nil, 0, err
	}
	stop = last
	if next := text(out[0]); next != "" {
		from, err := decimal(next)
		if err != nil {
			return nil, 0, err
		}
		stop = min(last, uint64(from)-1)
	}
	found, err := eventsOf(list(out[1]))
	for i := range found {
		if found[i].Seq <= last {
			evs = append(evs, found[i])
		}
	}
	return evs, stop, err
}
