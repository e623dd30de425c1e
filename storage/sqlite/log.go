package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
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

// loggedLate are those of late events, of which ?1 lists what events has.
var loggedLate = ` FROM (SELECT value ->> 0 AS n, value ->> 1 AS seq, value ->> 2 AS source_kind, value ->> 3 AS source_id,
	value ->> 4 AS author_key, value ->> 5 AS detected_at FROM json_each(?1)) e CROSS JOIN deliveries d ON ` + ofEvent("d.n", "e.n") + ` WHERE e.n ` + notForgotten

// detectedAt is SQL for when an event was detected: those that were entered before
// they had a column for it are asked for in their pack, where no difference is the
// zero time.
var detectedAt = fmt.Sprintf(`coalesce(e.detected_at, (SELECT (p.fields -> (e.n & %d) ->> 2) - (p.fields -> (e.n & %d) ->> 8)
	FROM packs p WHERE p.n = e.n >> %d), %d)`, packMost-1, packMost-1, packBits, int64(math.MinInt64))

// forgotten selects the entered events that were settled at or before a time.
func forgotten(until string) string {
	return `WITH RECURSIVE old (n, last) AS (
		SELECT first, last FROM settled WHERE settled_at <= ` + until + ` UNION ALL SELECT n + 1, last FROM old WHERE n < last) SELECT n FROM old`
}

var notForgotten = `NOT IN (` + forgotten("?2") + `)`

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if err := q.Validate(); err != nil {
		return deliver.LogPage{}, err
	}
	with, without := q.Via.Prefixes()
	// A condition that is not asked for would cost reading what it is about.
	from, args := "", []any{nil, l.s.forgottenUntil()}
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
	behind, shown := "", []any(nil) // what follows the cursor
	if q.Cursor != "" {
		var seq, n int64
		if _, err := fmt.Sscanf(q.Cursor, "%d.%d", &seq, &n); err != nil || fmt.Sprintf("%d.%d", seq, n) != q.Cursor {
			return deliver.LogPage{}, deliver.BadCursor(q.Cursor)
		}
		behind, shown, offset = " AND (e.seq, d.n) "+beyond(q.Asc)+" (?, ?)", []any{seq, n}, 0
	}
	page := deliver.LogPage{Entries: []deliver.LogEntry{}}
	var rows []int64
	err := l.s.search(ctx, func(r *snapshot) error {
		late, err := lateEvents(r, q.Owner)
		if err != nil {
			return err
		}
		doc, err := lateJSON(late)
		if err != nil {
			return err
		}
		type source struct {
			from string
			of   any
		}
		sources := []source{{logged, q.Owner}} // in the order of their numbers
		if len(late) > 0 {
			sources = append(sources, source{loggedLate, doc})
		}
		if !q.Asc {
			slices.Reverse(sources)
		}
		for _, source := range sources {
			args[0] = source.of
			var total int
			if _, err := one(r, `SELECT count(*)`+source.from+from, args, &total); err != nil {
				return err
			}
			page.Total += total
			if before := int64(total); offset >= before {
				offset -= before
				continue
			}
			// One more than the page has tells whether there is another.
			some, ns, err := r.entries(source.from+from+behind+` ORDER BY e.seq`+order+`, d.n`+order+` LIMIT ? OFFSET ?`,
				append(append(args[:len(args):len(args)], shown...), limit+1-int64(len(page.Entries)), offset))
			if err != nil {
				return err
			}
			page.Entries, rows, offset = append(page.Entries, some...), append(rows, ns...), 0
		}
		if n := int(limit); len(page.Entries) > n {
			page.Entries, page.Next = page.Entries[:n], fmt.Sprintf("%d.%d", page.Entries[n-1].Event.Seq, rows[n-1])
		}
		return nil
	})
	if err != nil {
		return deliver.LogPage{}, err
	}
	return page, nil
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (entry deliver.LogEntry, err error) {
	err = l.s.search(ctx, func(r *snapshot) error {
		found, _, err := r.entries(` FROM deliveries d WHERE d.id = ?1 AND d.event `+notForgotten, []any{id, l.s.forgottenUntil()})
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
		if err == nil && len(ns) < limit {
			var late []int64
			late, err = l.lateAfter(r, owner, afterSeq)
			for _, n := range late[:min(len(late), limit-len(ns))] {
				er.want(n)
				ns = append(ns, n)
			}
		}
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

// lateAfter gives the late events of an owner with numbers above afterSeq, which
// are above those of his others, that are not past their retention.
func (l deliveryLog) lateAfter(r *snapshot, owner string, afterSeq uint64) (ns []int64, err error) {
	until := l.s.forgottenUntil()
	late, err := lateEvents(r, owner)
	for _, ev := range late {
		if err != nil {
			break
		}
		gone := false
		if nanos(ev.CommittedAt) <= until {
			gone, err = one(r, `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE `+ofEvent("d.n", "?1")+`) OR ?1 IN (`+forgotten("?2")+`)`,
				[]any{ev.n, until})
		}
		if !gone && ev.Seq > afterSeq {
			ns = append(ns, ev.n)
		}
	}
	return ns, err
}

// lateJSON is a list of what events has of late ones: n, seq, source_kind,
// source_id, author_key and detected_at; NULL when it is empty.
func lateJSON(late []lateEvent) (any, error) {
	rows := make([][]any, len(late))
	for i, ev := range late {
		rows[i] = []any{ev.n, ev.Seq, ev.Source.Kind, ev.Source.ID, withoutCase(ev.AuthorUsername), nanos(ev.DetectedAt)}
	}
	return listJSON(rows)
}

// beyond is how what follows compares with what is shown.
func beyond(asc bool) string {
	if asc {
		return ">"
	}
	return "<"
}

// entries reads deliveries with their attempts, and gives their n, too.
func (r *snapshot) entries(from string, args []any) (entries []deliver.LogEntry, rows []int64, err error) {
	entries = []deliver.LogEntry{}
	er := newEventReader()
	err = each(r, `SELECT `+deliveryColumns+from, args, func(found *sql.Rows) error {
		n, d, err := er.scanDelivery(found)
		entries = append(entries, deliver.LogEntry{Delivery: d})
		rows = append(rows, n)
		return err
	})
	if err == nil {
		err = er.unpack(r)
	}
	if err != nil {
		return nil, nil, err
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
			return nil, nil, err
		}
	}
	return entries, rows, nil
}
