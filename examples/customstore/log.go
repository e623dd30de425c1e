package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// deliveryLog implements deliver.Log.
type deliveryLog struct{ s *Store }

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (page deliver.LogPage, err error) {
	if err := q.Validate(); err != nil {
		return page, err
	}
	after, err := strconv.ParseUint(q.Cursor, 10, 64) // the number of the last that was shown
	if err != nil && q.Cursor != "" {
		return page, deliver.BadCursor(q.Cursor)
	}
	err = l.s.view(ctx, func(st *state, _ time.Time) {
		var ids []string // in the order in which they were made
		for id, d := range st.Deliveries.all() {
			ev, _ := st.Events.get(d.EventID)
			if ev.Source.Owner == q.Owner && (q.SourceID == "" || q.SourceID == ev.Source.ID) &&
				(q.AuthorUsername == "" || strings.EqualFold(q.AuthorUsername, ev.AuthorUsername)) &&
				(q.SourceKind == "" || q.SourceKind == ev.Source.Kind) &&
				(q.State == "" || q.State == d.State) &&
				(q.Via == "" || q.Via == deliver.ViaOf(d.EndpointID)) &&
				(q.EndpointID == "" || q.EndpointID == d.EndpointID) && within(ev.DetectedAt, q.Since, q.Until) {
				ids = append(ids, id)
			}
		}
		if !q.Asc {
			slices.Reverse(ids)
		}
		page.Total = len(ids)
		shown := func(id string) bool {
			d, _ := st.Deliveries.get(id)
			return q.Asc && d.N <= after || !q.Asc && d.N >= after
		}
		if q.Cursor != "" {
			ids, q.Page = slices.DeleteFunc(ids, shown), 1
		}
		var last uint64
		for _, id := range pageOf(ids, q.Page, q.PageSize) {
			d, _ := st.Deliveries.get(id)
			page.Entries, last = append(page.Entries, st.entry(id, d)), d.N
		}
		if n := len(page.Entries); n > 0 && page.Entries[n-1].ID != ids[len(ids)-1] {
			page.Next = strconv.FormatUint(last, 10)
		}
	})
	return page, err
}

// within reports whether t is at since or later and before until. A zero time means no bound.
func within(t, since, until time.Time) bool {
	return !t.Before(since) && (until.IsZero() || t.Before(until))
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (e deliver.LogEntry, err error) {
	found := false
	err = l.s.view(ctx, func(st *state, _ time.Time) {
		var d delivery
		if d, found = st.Deliveries.get(id); found {
			e = st.entry(id, d)
		}
	})
	if err == nil && (!found || e.Owner() != owner) {
		return deliver.LogEntry{}, deliver.ErrDeliveryNotFound
	}
	return e, err
}

func (l deliveryLog) Waiting(ctx context.Context, endpointIDs ...string) (map[string]deliver.Waiting, error) {
	waiting := make(map[string]deliver.Waiting)
	err := l.s.view(ctx, func(st *state, _ time.Time) {
		for id, d := range st.Deliveries.all() {
			if d.State.Final() || !slices.Contains(endpointIDs, d.EndpointID) {
				continue
			}
			w, made := waiting[d.EndpointID], st.delivery(id, d).CreatedAt
			if w.Count == 0 || made.Before(w.Oldest) {
				w.Oldest = made
			}
			w.Count++
			waiting[d.EndpointID] = w
		}
	})
	return waiting, err
}

func (s *state) entry(id string, d delivery) deliver.LogEntry {
	return deliver.LogEntry{Delivery: s.delivery(id, d), Log: slices.Clone(d.Log)}
}

// Epoch is 0: the file loses nothing that was acknowledged.
func (l deliveryLog) Epoch(ctx context.Context) (uint64, error) {
	return 0, l.s.view(ctx, func(*state, time.Time) {})
}

func (l deliveryLog) Events(ctx context.Context, owner string, afterSeq uint64, limit int) (evs []deliver.Event, err error) {
	err = l.s.view(ctx, func(st *state, _ time.Time) {
		for id, ev := range st.Events.all() { // an owner's are in order
			if len(evs) >= limit {
				return
			}
			if ev.Source.Owner == owner && ev.Seq > afterSeq {
				evs = append(evs, *st.event(id))
			}
		}
	})
	return evs, err
}

// pageOf returns one page of a list. Pages are numbered from 1; a size of 0 means 20.
func pageOf[T any](list []T, page, size int) []T {
	page = max(page, 1)
	if size <= 0 {
		size = 20
	}
	if page-1 > len(list)/size { // beyond the last; the product may not fit
		return nil
	}
	list = list[min((page-1)*size, len(list)):]
	return list[:min(size, len(list))]
}
