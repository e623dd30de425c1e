package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// replays implements deliver.Replays.
type replays struct{ s *Store }

// replayErrors has the errors for the first words of replies.
var replayErrors = map[string]error{
	"running": deliver.ErrReplayRunning, "conflict": deliver.ErrReplayConflict, "waits": deliver.ErrReplayWaits, "unknown": deliver.ErrReplayNotFound,
}

func (rs replays) Start(ctx context.Context, r deliver.Replay) error {
	_, doc, err := replayText(&r)
	if err != nil {
		return err
	}
	out, err := rs.s.run(ctx, "replays_start", r.EndpointID, escaped(r.Owner), doc)
	if err != nil {
		return err
	}
	if text(out[0]) == "unknown" {
		return deliver.ErrEndpointNotFound
	}
	return replayErrors[text(out[0])]
}

// replayText returns a replay as lua/replay.lua keeps it, and its Next.
func replayText(r *deliver.Replay) (next string, doc []byte, err error) {
	own := *r
	own.Due, own.UpdatedAt = own.Due.UTC(), own.UpdatedAt.UTC()
	next = stamp(own.Due)
	doc, err = json.Marshal(struct {
		deliver.Replay
		Next string
	}{own, next})
	if err != nil {
		return "", nil, fmt.Errorf("redisstore: %w", err)
	}
	return next, doc, nil
}

func (rs replays) Get(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	stored, err := rs.s.fields(ctx, "replays", 1, endpointID)
	if err != nil {
		return deliver.Replay{}, err
	}
	if stored[0] == nil {
		return deliver.Replay{}, deliver.ErrReplayNotFound
	}
	r, err := decodeReplay(stored[0])
	if err == nil && r.Owner != owner {
		err = deliver.ErrReplayNotFound
	}
	return r, err
}

func decodeReplay(stored any) (r deliver.Replay, err error) {
	if err := json.Unmarshal([]byte(text(stored)), &r); err != nil {
		return r, fmt.Errorf("redisstore: stored replay: %w", err)
	}
	return r, nil
}

func (rs replays) Running(ctx context.Context, now time.Time, limit int) ([]deliver.Replay, error) {
	out, err := rs.s.run(ctx, "replays_running", stamp(now), max(limit, 0))
	if err != nil {
		return nil, err
	}
	stored := list(out[0])
	due := make([]deliver.Replay, len(stored))
	for i := range due {
		if due[i], err = decodeReplay(stored[i]); err != nil {
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
	args := append(make([]any, 0, 11+4*len(evs)), r.EndpointID, owner, lane, r.ID, r.Cursor,
		stamp(q.DeliverBy), q.DeliverBy.UTC(), q.Now.UTC(), max(q.Limit, 1), stop, len(evs))
	for i := range evs {
		ev := &evs[i]
		if ev.Source.ID != r.SourceID {
			args = append(args, ev.Seq, ev.ID, "", "")
			continue
		}
		events[ev.ID] = ev
		args = append(args, ev.Seq, ev.ID, deliver.DeliveryIDInEpoch(rs.s.deliveryEpoch, ev.ID, r.EndpointID), appendDelivery(ev, owner, lane, ev.CommittedAt))
	}
	out, err := rs.s.run(ctx, "replays_step", args...)
	if err == nil {
		err = replayErrors[text(out[0])]
	}
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	if r, err = decodeReplay(out[1]); err != nil {
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
