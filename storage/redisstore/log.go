package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// deliveryLog implements deliver.Log.
type deliveryLog struct{ s *Store }

const (
	entriesChunk = 256 // log entries that a script returns, with the bodies of their events
	eventChunk   = 128 // events that a script returns

	// scannedChunk is the maximum number of deliveries that a script with conditions looks at.
	// Looking at one takes the server about a microsecond.
	scannedChunk = 5000
	datedChunk   = 500 // the same for a script that also reads their events
)

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if err := q.Validate(); err != nil {
		return deliver.LogPage{}, err
	}
	if !isNumber(q.Cursor) {
		return deliver.LogPage{}, deliver.BadCursor(q.Cursor)
	}
	rows := pageQuery{list: "log", owner: q.Owner, asc: q.Asc, cursor: q.Cursor, page: q.Page, size: q.PageSize, uncounted: q.NoTotal, chunk: scannedChunk}
	if q.EndpointID != "" || q.SourceID != "" || q.SourceKind != "" || q.AuthorUsername != "" || q.State != "" || q.Via != "" || !q.Since.IsZero() || !q.Until.IsZero() {
		with, without := q.Via.Prefixes()
		rows.conditions = []any{q.SourceID, withoutCase(q.AuthorUsername), stateLetters[q.State], with, without,
			string(q.SourceKind), timeBound(q.Since), timeBound(q.Until), ""}
		if q.EndpointID != "" {
			rows.conditions[8] = laneOf(q.EndpointID)
		}
		if !q.Since.IsZero() || !q.Until.IsZero() {
			rows.chunk = datedChunk
		}
	}
	ids, total, next, err := l.s.rows(ctx, rows)
	if err != nil {
		return deliver.LogPage{}, err
	}
	entries, err := l.entries(ctx, ids)
	return deliver.LogPage{Total: total, Entries: entries, Next: next}, err
}

// timeBound formats a time for comparison in scripts; "" means no limit.
func timeBound(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
	found, err := l.entries(ctx, []any{id})
	if err != nil {
		return deliver.LogEntry{}, err
	}
	if len(found) == 0 || found[0].Owner() != owner {
		return deliver.LogEntry{}, deliver.ErrDeliveryNotFound
	}
	return found[0], nil
}

func (l deliveryLog) Waiting(ctx context.Context, endpointIDs ...string) (map[string]deliver.Waiting, error) {
	waiting := make(map[string]deliver.Waiting, len(endpointIDs))
	for _, id := range endpointIDs {
		var w deliver.Waiting
		oldest := ""
		for beyond, more := "", true; more; more = beyond != "" {
			out, err := l.s.run(ctx, "log_waiting", laneOf(id), beyond, scannedChunk, oldest)
			if err != nil {
				return nil, err
			}
			n, err := decimal(text(out[1]))
			if err != nil {
				return nil, err
			}
			w.Count += n
			beyond, oldest = text(out[0]), text(out[2])
		}
		if w.Count > 0 {
			d := decoder{rest: oldest}
			if w.Oldest = d.stamp(d.take(stampLen)); d.err != nil {
				return nil, d.err
			}
			waiting[id] = w
		}
	}
	return waiting, nil
}

func (l deliveryLog) Epoch(ctx context.Context) (uint64, error) {
	st, err := l.s.Ports().Members.Look(ctx)
	return st.Epoch, err
}

func (l deliveryLog) Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]deliver.Event, error) {
	const most = 1 << 53 // the numbers of events are lower, because Lua cannot count further
	if limit <= 0 || afterSeq >= most {
		return nil, l.s.reach(ctx)
	}
	var found []deliver.Event
	for from := int64(afterSeq) + 1; ; {
		count := min(limit-len(found), eventChunk)
		out, err := l.s.run(ctx, "log_events", escaped(owner), from, count)
		if err != nil {
			return nil, err
		}
		some, err := eventsOf(list(out[1]))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
		next := text(out[0])
		if next == "" || len(found) >= limit {
			return found, nil
		}
		if from, err = decimal(next); err != nil {
			return nil, err
		}
	}
}

// eventsOf decodes the reply of log_events: number, id and record of each event.
func eventsOf(stored []any) ([]deliver.Event, error) {
	var evs []deliver.Event
	for i := 0; i+2 < len(stored); i += 3 {
		ev, err := decodeEvent(text(stored[i+1]), text(stored[i+2]))
		if err != nil {
			return nil, err
		}
		if ev.Seq, err = fromHex(text(stored[i])); err != nil {
			return nil, err
		}
		evs = append(evs, *ev)
	}
	return evs, nil
}

// entries reads deliveries by their ids. It omits those that were removed.
func (l deliveryLog) entries(ctx context.Context, ids []any) ([]deliver.LogEntry, error) {
	entries := make([]deliver.LogEntry, 0, len(ids))
	for chunk := range slices.Chunk(ids, entriesChunk) {
		out, err := l.s.run(ctx, "log_entries", append([]any{len(chunk)}, chunk...)...)
		if err != nil {
			return nil, err
		}
		events, err := eventsByID(list(out[1]))
		if err != nil {
			return nil, err
		}
		stored := list(out[0])
		for i := 0; i+2 < len(stored); i += 3 {
			d, err := decodeDelivery(text(stored[i]), text(stored[i+1]), events)
			if err != nil {
				return nil, err
			}
			if d.Event == nil {
				continue
			}
			attempts, err := decodeAttempts(text(stored[i+2]))
			if err != nil {
				return nil, err
			}
			entries = append(entries, deliver.LogEntry{Delivery: d, Log: attempts})
		}
	}
	return entries, nil
}
