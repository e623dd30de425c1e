package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"

	"github.com/streamwatch/streamwatch/deliver"
)

// deliveryLog implements deliver.Log. It shows no events past their retention.
type deliveryLog struct{ s *Store }

// logged is SQL for the deliveries of the owner ?1. It leaves out events that were settled at ?2 or
// earlier, which are past their retention.
var logged = ` FROM events e CROSS JOIN deliveries d ON ` + ofEvent("d.n", "e.n") + ` WHERE e.owner = ?1 AND ` + retainedOfAll("e.n", "?2")

// detectedAt is SQL for the time at which an event was detected. It may be the zero time.
var detectedAt = fmt.Sprintf(`coalesce(e.detected_at, %d)`, int64(math.MinInt64))

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if err := q.Validate(); err != nil {
		return deliver.LogPage{}, err
	}
	with, without := q.Via.Prefixes()
	// Add only the conditions that the query has, because each makes SQLite read a column.
	from, args := logged, []any{q.Owner, l.s.expired()}
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
	if !q.Since.IsZero() {
		from, args = from+" AND "+detectedAt+" >= ?", append(args, nanos(q.Since))
	}
	if !q.Until.IsZero() {
		from, args = from+" AND "+detectedAt+" < ?", append(args, nanos(q.Until))
	}
	order := " DESC"
	if q.Asc {
		order = " ASC"
	}
	limit, offset := pageBounds(q.Page, q.PageSize)
	behind, shown := "", []any(nil) // SQL for the rows after the cursor, and its arguments
	if q.Cursor != "" {
		var seq, n int64
		if _, err := fmt.Sscanf(q.Cursor, "%d.%d", &seq, &n); err != nil || fmt.Sprintf("%d.%d", seq, n) != q.Cursor {
			return deliver.LogPage{}, deliver.BadCursor(q.Cursor)
		}
		behind, shown, offset = " AND (e.seq, d.n) "+beyond(q.Asc)+" (?, ?)", []any{seq, n}, 0
	}
	var page deliver.LogPage
	err := l.s.search(ctx, func(r *snapshot) error {
		if !q.NoTotal {
			if _, err := one(r, `SELECT count(*)`+from, args, &page.Total); err != nil {
				return err
			}
		}
		// Read one more row than a page has, to see whether another page follows.
		entries, ns, err := r.entries(from+behind+` ORDER BY e.seq`+order+`, d.n`+order+` LIMIT ? OFFSET ?`,
			append(append(args, shown...), limit+1, offset))
		if n := int(limit); len(entries) > n {
			entries, page.Next = entries[:n], fmt.Sprintf("%d.%d", entries[n-1].Event.Seq, ns[n-1])
		}
		page.Entries = entries
		return err
	})
	if err != nil {
		return deliver.LogPage{}, err
	}
	return page, nil
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (entry deliver.LogEntry, err error) {
	err = l.s.read(ctx, func(r *snapshot) error {
		found, _, err := r.entries(` FROM deliveries d WHERE d.id = ?1 AND `+retained("d.event", "?2"), []any{id, l.s.expired()})
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
	err := l.s.read(ctx, func(r *snapshot) (err error) {
		found, err = all(r, `SELECT `+eventColumns+` FROM events e WHERE e.owner = ?1 AND e.seq > ?3 AND `+retained("e.n", "?2")+` ORDER BY e.seq LIMIT ?4`,
			[]any{owner, l.s.expired(), int64(afterSeq), max(limit, 0)}, func(rows *sql.Rows, ev *deliver.Event) error {
				return scanEvent(rows, new(int64), ev)
			})
		return err
	})
	return found, err
}

func (l deliveryLog) Epoch(ctx context.Context) (epoch uint64, err error) {
	return l.s.epoch, l.s.read(ctx, func(*snapshot) error { return nil })
}

// beyond returns the SQL operator that selects the rows after a page, compared with its last row.
func beyond(asc bool) string {
	if asc {
		return ">"
	}
	return "<"
}

// entries reads deliveries with their attempts, and returns them with their numbers.
func (r *snapshot) entries(from string, args []any) (entries []deliver.LogEntry, ns []int64, err error) {
	ds, err := all(r, `SELECT `+deliveryColumns+from, args, scanDelivery)
	if err == nil {
		err = addEvents(r, ds)
	}
	if err != nil {
		return nil, nil, err
	}
	entries = make([]deliver.LogEntry, len(ds))
	for i := range ds {
		entries[i].Delivery = ds[i].Delivery
		ns = append(ns, ds[i].n)
		if ds[i].Attempts == 0 {
			continue
		}
		entries[i].Log, err = all(r, `SELECT attempt, at, duration, status_code, error, response_preview FROM attempts WHERE delivery = ? ORDER BY place`,
			[]any{ds[i].n}, func(rows *sql.Rows, a *deliver.Attempt) error {
				return rows.Scan(&a.N, timeColumn{&a.At}, (*int64)(&a.Duration), &a.StatusCode, &a.Error, &a.ResponsePreview)
			})
		if err != nil {
			return nil, nil, err
		}
	}
	return entries, ns, nil
}
