package memory

import (
	"context"
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
	type found struct {
		*delivery
		place
	}
	var matching []found // oldest first
	for _, e := range s.events.peek(q.Owner).events {
		if !matchesEvent(&q, e.ev) {
			continue
		}
		for i, d := range e.deliveries {
			if (q.State == "" || d.state == q.State) && (q.Via == "" || deliver.ViaOf(d.endpointID) == q.Via) &&
				(q.EndpointID == "" || d.endpointID == q.EndpointID) {
				matching = append(matching, found{d, place{e.seq, uint64(i)}})
			}
		}
	}
	if !q.Asc {
		slices.Reverse(matching)
	}
	from, to, next, ok := cut(len(matching), func(i int) place { return matching[i].place }, q.Cursor, q.Asc, q.Page, q.PageSize)
	if !ok {
		return deliver.LogPage{}, deliver.BadCursor(q.Cursor)
	}
	page := deliver.LogPage{Total: len(matching), Entries: make([]deliver.LogEntry, 0, to-from), Next: next}
	for _, d := range matching[from:to] {
		page.Entries = append(page.Entries, d.entry())
	}
	return page, nil
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
