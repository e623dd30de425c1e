package sqlite

import (
	"context"
	"database/sql"
	"math"
	"strconv"

	"github.com/streamwatch/streamwatch/deliver"
)

// deliveryLog implements deliver.Log. What is past its retention is not shown,
// removed or not.
type deliveryLog struct{ s *Store }

// logged are the deliveries of the owner ?1, without those of events that were
// settled at ?2 or before: these are past the retention. The deliveries of an
// owner come in the order of his events, through the index of those.
var logged = ` FROM events e CROSS JOIN deliveries d ON ` + ofEvent("d.n", "e.n") + ` WHERE e.owner = ?1 AND e.n ` + notForgotten

const notForgotten = `NOT IN (SELECT event FROM settled WHERE settled_at <= ?2)`

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if err := q.Validate(); err != nil {
		return deliver.LogPage{}, err
	}
	with, without := q.Via.Prefixes()
	// A condition that is not asked for would cost reading what it is about.
	from, args := logged, []any{q.Owner, l.s.forgottenUntil()}
	for _, c := range []struct{ column, value string }{
		{"e.source_id", q.SourceID}, {"e.source_kind", string(q.SourceKind)}, {"e.author_key", withoutCase(q.AuthorUsername)}, {"d.state", string(q.State)},
	} {
		if c.value != "" {
			from, args = from+" AND "+c.column+" = ?", append(args, c.value)
		}
	}
	for _, c := range []struct{ prefix, is string }{{with, " ="}, {without, " <>"}} {
		if c.prefix != "" {
			from, args = from+" AND substr(d.endpoint_id, 1, "+strconv.Itoa(len(c.prefix))+")"+c.is+" ?", append(args, c.prefix)
		}
	}
	order := " DESC"
	if q.Asc {
		order = " ASC"
	}
	limit, offset := pageBounds(q.Page, q.PageSize)
	page := deliver.LogPage{Entries: []deliver.LogEntry{}}
	err := l.s.search(ctx, func(r *snapshot) error {
		if _, err := one(r, `SELECT count(*)`+from, args, &page.Total); err != nil {
			return err
		}
		var err error
		page.Entries, err = r.entries(from+` ORDER BY e.seq`+order+`, d.n`+order+` LIMIT ? OFFSET ?`, append(args, limit, offset))
		return err
	})
	if err != nil {
		return deliver.LogPage{}, err
	}
	return page, nil
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (entry deliver.LogEntry, err error) {
	err = l.s.search(ctx, func(r *snapshot) error {
		found, err := r.entries(` FROM deliveries d WHERE d.id = ?1 AND d.event `+notForgotten, []any{id, l.s.forgottenUntil()})
		if err != nil {
			return err
		}
		if len(found) == 0 || found[0].Event.Source.Owner != owner {
			return deliver.ErrDeliveryNotFound
		}
		entry = found[0]
		return nil
	})
	return entry, err
}

func (l deliveryLog) Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]deliver.Event, error) {
	if afterSeq > math.MaxInt64 {
		afterSeq = math.MaxInt64 // no event has a number above
	}
	var found []deliver.Event
	err := l.s.search(ctx, func(r *snapshot) error {
		er := newEventReader()
		var ns []int64
		err := each(r, `SELECT e.n FROM events e
			WHERE e.owner = ?1 AND e.n `+notForgotten+` AND e.seq > ?3 ORDER BY e.seq LIMIT ?4`,
			[]any{owner, l.s.forgottenUntil(), int64(afterSeq), max(limit, 0)},
			func(rows *sql.Rows) error {
				var n int64
				err := rows.Scan(&n)
				er.want(n)
				ns = append(ns, n)
				return wrap(err)
			})
		if err == nil {
			err = er.unpack(r)
		}
		for _, n := range ns {
			found = append(found, *er.events[n])
		}
		return err
	})
	return found, err
}

// entries reads deliveries with their attempts.
func (r *snapshot) entries(from string, args []any) ([]deliver.LogEntry, error) {
	entries := []deliver.LogEntry{}
	var rows []int64
	er := newEventReader()
	err := each(r, `SELECT `+deliveryColumns+from, args, func(found *sql.Rows) error {
		n, d, err := er.scanDelivery(found)
		entries = append(entries, deliver.LogEntry{Delivery: d})
		rows = append(rows, n)
		return err
	})
	if err == nil {
		err = er.unpack(r)
	}
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].CreatedAt = entries[i].Event.CommittedAt // the same moment
		if entries[i].Attempts == 0 {
			continue
		}
		err := each(r, `SELECT attempt, at, duration, status_code, error, response_preview FROM attempts WHERE delivery = ? ORDER BY place`,
			[]any{rows[i]}, func(found *sql.Rows) error {
				var a deliver.Attempt
				err := found.Scan(&a.N, timeColumn{&a.At}, (*int64)(&a.Duration), &a.StatusCode, &a.Error, &a.ResponsePreview)
				entries[i].Log = append(entries[i].Log, a)
				return wrap(err)
			})
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}
