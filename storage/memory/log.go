package memory

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// deliveryLog implements deliver.Log.
type deliveryLog struct{ s *Store }

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if err := q.Validate(); err != nil {
		return deliver.LogPage{}, err
	}
	s := l.s
	if err := s.lock(ctx); err != nil {
		return deliver.LogPage{}, err
	}
	defer s.mu.Unlock()
	s.events.retain(s.opts.Now())
	after, ok := placeOf(q.Cursor)
	size, number := q.PageSize, max(q.Page, 1)-1
	if q.Cursor != "" {
		number = 0
		if !ok {
			return deliver.LogPage{}, deliver.BadCursor(q.Cursor)
		}
	}
	if size == 0 {
		size = defaultPageSize
	}
	h := s.events.peek(q.Owner)
	events := h.events
	if q.NoTotal && q.Cursor != "" { // what is before the page need not be counted
		if q.Asc {
			events = h.after(max(after.n, 1) - 1)
		} else {
			events = events[:len(events)-len(h.after(after.n))]
		}
	}
	page := deliver.LogPage{Entries: []deliver.LogEntry{}}
	n := 0
	var last place
	for at, d := range rows(events, q.Asc) {
		if q.State != "" && d.state != q.State || q.EndpointID != "" && d.endpointID != q.EndpointID ||
			q.Via != "" && deliver.ViaOf(d.endpointID) != q.Via || !matchesEvent(&q, d.event.ev) {
			continue
		}
		if !q.NoTotal {
			page.Total++
		}
		if q.Cursor != "" && (at == after || at.before(after) == q.Asc) {
			continue
		}
		switch n / size {
		case number:
			page.Entries, last = append(page.Entries, d.entry()), at
		case number + 1:
			if page.Next = last.String(); q.NoTotal {
				return page, nil
			}
		}
		n++
	}
	return page, nil
}

// rows yields deliveries in the order of a log.
func rows(events []*event, asc bool) iter.Seq2[place, *delivery] {
	return func(yield func(place, *delivery) bool) {
		for i := range events {
			if !asc {
				i = len(events) - 1 - i
			}
			e := events[i]
			for k := range e.deliveries {
				if !asc {
					k = len(e.deliveries) - 1 - k
				}
				if !yield(place{e.seq, uint64(k)}, e.deliveries[k]) {
					return
				}
			}
		}
	}
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
	s := l.s
	if err := s.lock(ctx); err != nil {
		return deliver.LogEntry{}, err
	}
	defer s.mu.Unlock()
	s.events.retain(s.opts.Now())
	d := s.events.deliveries[id]
	if d == nil || d.event.ev.Source.Owner != owner {
		return deliver.LogEntry{}, deliver.ErrDeliveryNotFound
	}
	return d.entry(), nil
}

func (l deliveryLog) Waiting(ctx context.Context, endpointIDs ...string) (map[string]deliver.Waiting, error) {
	s := l.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	waiting := make(map[string]deliver.Waiting, len(endpointIDs))
	for _, id := range endpointIDs {
		lane := s.events.open.lanes[id]
		if lane == nil {
			continue
		}
		oldest := slices.MinFunc(lane.due, func(a, b *delivery) int { return a.createdAt.Compare(b.createdAt) })
		waiting[id] = deliver.Waiting{Count: int64(len(lane.due)), Oldest: oldest.createdAt}
	}
	return waiting, nil
}

func (l deliveryLog) Epoch(ctx context.Context) (uint64, error) {
	st, err := l.s.Ports().Members.Look(ctx)
	return st.Epoch, err
}

func (l deliveryLog) Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]deliver.Event, error) {
	s := l.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	s.events.retain(s.opts.Now())
	later := s.events.peek(owner).after(afterSeq)
	var found []deliver.Event
	for _, e := range later[:min(max(limit, 0), len(later))] {
		ev := *e.ev
		ev.Handlers = slices.Clone(ev.Handlers)
		found = append(found, ev)
	}
	return found, nil
}

func matchesEvent(q *deliver.LogQuery, ev *deliver.Event) bool {
	return (q.SourceID == "" || ev.Source.ID == q.SourceID) &&
		(q.SourceKind == "" || ev.Source.Kind == q.SourceKind) &&
		(q.AuthorUsername == "" || strings.EqualFold(ev.AuthorUsername, q.AuthorUsername)) &&
		within(ev.DetectedAt, q.Since, q.Until)
}

// within reports whether t is in [since, until). A zero until sets no limit.
func within(t, since, until time.Time) bool {
	return !t.Before(since) && (until.IsZero() || t.Before(until))
}

func (d *delivery) entry() deliver.LogEntry {
	return deliver.LogEntry{Delivery: d.view(), Log: slices.Clone(d.attempts)}
}
