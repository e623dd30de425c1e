package main

import (
	"context"
	"slices"
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
	err = l.s.view(ctx, func(st *state, _ time.Time) {
		var ids []string // in the order in which they were made
		for id, d := range st.Deliveries.all() {
			ev, _ := st.Events.get(d.EventID)
			if ev.Source.Owner == q.Owner && (q.SourceID == "" || q.SourceID == ev.Source.ID) &&
				(q.AuthorUsername == "" || strings.EqualFold(q.AuthorUsername, ev.AuthorUsername)) &&
				(q.SourceKind == "" || q.SourceKind == ev.Source.Kind) &&
				(q.State == "" || q.State == d.State) &&
				(q.Via == "" || q.Via == deliver.ViaOf(d.EndpointID)) && within(ev.DetectedAt, q.Since, q.Until) {
				ids = append(ids, id)
			}
		}
		if !q.Asc {
			slices.Reverse(ids)
		}
		page.Total = len(ids)
		for _, id := range pageOf(ids, q.Page, q.PageSize) {
			d, _ := st.Deliveries.get(id)
			page.Entries = append(page.Entries, st.entry(id, d))
		}
	})
	return page, err
}

// within says whether t is at since or later and before until; the zero time is no
// bound.
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

func (s *state) entry(id string, d delivery) deliver.LogEntry {
	return deliver.LogEntry{Delivery: s.delivery(id, d), Log: slices.Clone(d.Log)}
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
