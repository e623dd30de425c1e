package sqlite

import (
	"context"
	"database/sql"
	"math"

	"github.com/streamwatch/streamwatch/deliver"
)

// deliveryLog implements deliver.Log. What is past its retention is not shown,
// removed or not.
type deliveryLog struct{ s *Store }

// Deliveries of the owner ?1 that are not past the retention, which begins at
// ?2, of the source ?3, the author ?4 and in the state ?5, "" for all.
const logged = ` FROM deliveries d JOIN events e ON e.n = d.event
	WHERE d.owner = ?1 AND NOT EXISTS (SELECT 1 FROM settled s WHERE s.event = d.event AND s.settled_at <= ?2)
	AND ?3 IN ('', d.source_id) AND ?4 IN ('', e.author_key) AND ?5 IN ('', d.state)`

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if err := q.Validate(); err != nil {
		return deliver.LogPage{}, err
	}
	order := "DESC"
	if q.Asc {
		order = "ASC"
	}
	limit, offset := pageBounds(q.Page, q.PageSize)
	args := []any{q.Owner, l.s.forgottenUntil(), q.SourceID, withoutCase(q.AuthorUsername), string(q.State)}
	page := deliver.LogPage{Entries: []deliver.LogEntry{}}
	err := l.s.read(ctx, func(r *snapshot) error {
		if _, err := one(r, `SELECT count(*)`+logged, args, &page.Total); err != nil {
			return err
		}
		var err error
		page.Entries, err = r.entries(logged+` ORDER BY d.n `+order+` LIMIT ?6 OFFSET ?7`, append(args, limit, offset))
		return err
	})
	if err != nil {
		return deliver.LogPage{}, err
	}
	return page, nil
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (entry deliver.LogEntry, err error) {
	args := []any{owner, l.s.forgottenUntil(), "", "", "", id}
	err = l.s.read(ctx, func(r *snapshot) error {
		found, err := r.entries(logged+` AND d.id = ?6`, args)
		if err != nil {
			return err
		}
		if len(found) == 0 {
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
	err := l.s.read(ctx, func(r *snapshot) error {
		return each(r, `SELECT `+eventColumns+` FROM events e
			WHERE e.owner = ? AND e.seq > ? AND NOT EXISTS (SELECT 1 FROM settled s WHERE s.event = e.n AND s.settled_at <= ?)
			ORDER BY e.seq LIMIT ?`, []any{owner, int64(afterSeq), l.s.forgottenUntil(), max(limit, 0)},
			func(rows *sql.Rows) error {
				var ev deliver.Event
				if err := rows.Scan(eventInto(&ev)...); err != nil {
					return wrap(err)
				}
				found = append(found, ev)
				return nil
			})
	})
	return found, err
}

// entries reads deliveries with their attempts.
func (r *snapshot) entries(from string, args []any) ([]deliver.LogEntry, error) {
	entries := []deliver.LogEntry{}
	var rows []int64
	dr := deliveryReader{events: make(map[int64]*deliver.Event)}
	err := each(r, `SELECT `+deliveryColumns+from, args, func(found *sql.Rows) error {
		n, d, err := dr.scan(found)
		entries = append(entries, deliver.LogEntry{Delivery: d})
		rows = append(rows, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if entries[i].Attempts == 0 {
			continue
		}
		err := each(r, `SELECT attempt, at, duration, status_code, error, response_preview FROM attempts WHERE delivery = ? ORDER BY n`,
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
