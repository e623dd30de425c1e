package sqlstore

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/streamwatch/streamwatch/deliver"
)

// deliveryLog implements deliver.Log. It shows no events past their retention.
type deliveryLog struct{ *Store }

// logConditions are the conditions of a query on events e and deliveries d, and their arguments.
type logConditions struct {
	events, deliveries string
	ofEndpoint         bool // deliveries of an endpoint: they are looked up, and then their events
	args               []any
}

// arg adds an argument and returns its placeholder.
func (c *logConditions) arg(v any) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("?%d", len(c.args))
}

// logged returns the conditions of a query. It leaves out events past their retention, and has only
// the conditions that the query has, because each makes the server read a column.
func (l deliveryLog) logged(q *deliver.LogQuery) *logConditions {
	c := &logConditions{}
	kept := retained
	if l.RetainedOfAll != nil {
		kept = l.RetainedOfAll
	}
	c.events = `e.owner = ` + c.arg(q.Owner) + ` AND ` + kept("e.n", c.arg(l.expired()))
	for _, is := range []struct{ column, value string }{
		{"e.source_id", q.SourceID}, {"e.source_kind", string(q.SourceKind)}, {"e.author_key", withoutCase(q.AuthorUsername)},
	} {
		if is.value != "" {
			c.events += " AND " + is.column + " = " + c.arg(is.value)
		}
	}
	if !q.Since.IsZero() {
		c.events += " AND " + detectedAt + " >= " + c.arg(nanos(q.Since))
	}
	if !q.Until.IsZero() {
		c.events += " AND " + detectedAt + " < " + c.arg(nanos(q.Until))
	}
	if q.State != "" {
		c.deliveries += " AND d.state = " + c.arg(string(q.State))
	}
	if q.EndpointID != "" {
		c.ofEndpoint = deliver.ViaOf(q.EndpointID) == deliver.ViaWebhook // a handler has the events of all owners
		c.deliveries += " AND d.endpoint_id = " + c.arg(q.EndpointID)
	}
	with, without := q.Via.Prefixes()
	for _, via := range []struct{ prefix, is string }{{with, " = "}, {without, " <> "}} {
		if via.prefix != "" {
			c.deliveries += " AND substr(d.endpoint_id, 1, " + strconv.Itoa(len(via.prefix)) + ")" + via.is + c.arg(via.prefix)
		}
	}
	return c
}

// rows returns SQL for the deliveries that meet the conditions.
func (c *logConditions) rows() string {
	if c.ofEndpoint {
		return ` FROM deliveries d {join} events e ON e.n = d.event WHERE ` + c.events + c.deliveries
	}
	return ` FROM events e {join} deliveries d ON ` + ofEvent("d.n", "e.n") + ` WHERE ` + c.events + c.deliveries
}

// count returns a query for their number.
func (l deliveryLog) count(c *logConditions) string {
	if !l.CountByEvent || c.ofEndpoint {
		return `SELECT count(*)` + c.rows()
	}
	return `SELECT CAST(coalesce(sum(c), 0) AS BIGINT) FROM (SELECT (SELECT count(*) FROM deliveries d WHERE ` + ofEvent("d.n", "e.n") + c.deliveries + `) AS c
		FROM events e WHERE ` + c.events + `) AS counted`
}

// detectedAt is SQL for the time at which an event was detected. It may be the zero time.
var detectedAt = fmt.Sprintf(`coalesce(e.detected_at, %s)`, zeroTime)

func (l deliveryLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if err := q.Validate(); err != nil {
		return deliver.LogPage{}, err
	}
	conditions := l.logged(&q)
	from, args := conditions.rows(), conditions.args
	way, beyond := sorted(q.Asc)
	order := ` ORDER BY e.seq ` + way + `, d.n ` + way
	if conditions.ofEndpoint {
		order = ` ORDER BY d.n ` + way // the same order
	}
	limit, offset := pageBounds(q.Page, q.PageSize)
	behind, shown := "", []any(nil) // SQL for the rows after the cursor, and its arguments
	if q.Cursor != "" {
		var seq, n int64
		if _, err := fmt.Sscanf(q.Cursor, "%d.%d", &seq, &n); err != nil || fmt.Sprintf("%d.%d", seq, n) != q.Cursor {
			return deliver.LogPage{}, deliver.BadCursor(q.Cursor)
		}
		// The first condition begins the page in the index of events, the second in that of deliveries.
		behind, shown, offset = " AND e.seq "+beyond+"= ? AND d.n "+beyond+" ?", []any{seq, n}, 0
	}
	var page deliver.LogPage
	err := l.Search(ctx, func(r Querier) error {
		page = deliver.LogPage{}
		if !q.NoTotal {
			if _, err := One(r, l.count(conditions), args, &page.Total); err != nil {
				return err
			}
		}
		// Read one more row than a page has, to see whether another page follows.
		entries, ns, err := logEntries(r, from+behind+order+` LIMIT ? OFFSET ?`,
			append(append(args, shown...), limit+1, offset))
		if n := int(limit); len(entries) > n {
			entries, page.Next = entries[:n], fmt.Sprintf("%d.%d", entries[n-1].Event.Seq, ns[n-1])
		}
		page.Entries = entries
		return err
	})
	return page, err
}

func (l deliveryLog) Waiting(ctx context.Context, endpointIDs ...string) (waiting map[string]deliver.Waiting, err error) {
	err = l.Search(ctx, func(r Querier) error {
		waiting = make(map[string]deliver.Waiting, len(endpointIDs))
		return each(r, `SELECT w.endpoint_id, w.count, e.committed_at FROM
			(SELECT endpoint_id, count(*) AS count, min(n) AS first FROM deliveries
				WHERE endpoint_id IN {texts ?} AND due_at IS NOT NULL GROUP BY endpoint_id) AS w
			{join} events e ON e.n = w.first >> `+strconv.Itoa(placeBits), []any{Texts(endpointIDs)}, func(rows Rows) error {
			var id string
			var w deliver.Waiting
			err := rows.Scan(&id, &w.Count, timeColumn{&w.Oldest})
			waiting[id] = w
			return err
		})
	})
	return waiting, err
}

func (l deliveryLog) Delivery(ctx context.Context, owner, id string) (entry deliver.LogEntry, err error) {
	err = l.Search(ctx, func(r Querier) error {
		found, _, err := logEntries(r, ` FROM deliveries d WHERE d.id = ?1 AND `+retained("d.event", "?2"), []any{id, l.expired()})
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
	err := l.Read(ctx, func(r Querier) (err error) {
		found, err = all(r, `SELECT `+eventColumns+` FROM events e WHERE e.owner = ?1 AND e.seq > ?3 AND `+retained("e.n", "?2")+` ORDER BY e.seq LIMIT ?4`,
			[]any{owner, l.expired(), int64(afterSeq), max(limit, 0)}, func(rows Rows, ev *deliver.Event) error {
				return scanEvent(rows, new(int64), ev)
			})
		return err
	})
	return found, err
}

func (l deliveryLog) Epoch(ctx context.Context) (epoch uint64, err error) {
	err = l.Read(ctx, func(r Querier) error {
		_, err := One(r, `SELECT `+l.Dialect.Epoch, nil, &epoch)
		return err
	})
	return epoch, err
}

// entries reads deliveries with their attempts, and returns them with their numbers.
func logEntries(r Querier, from string, args []any) (entries []deliver.LogEntry, ns []int64, err error) {
	ds, err := all(r, `SELECT `+deliveryColumns+from, args, scanDelivery)
	if err == nil {
		err = addEvents(r, ds)
	}
	if err != nil {
		return nil, nil, err
	}
	entries = make([]deliver.LogEntry, len(ds))
	var attempted Ints
	place := make(map[int64]int, len(ds))
	for i := range ds {
		entries[i].Delivery = ds[i].Delivery
		ns, place[ds[i].n] = append(ns, ds[i].n), i
		if ds[i].Attempts > 0 {
			attempted = append(attempted, ds[i].n)
		}
	}
	if len(attempted) == 0 {
		return entries, ns, nil
	}
	err = each(r, `SELECT `+attemptColumns+` FROM attempts
		WHERE delivery IN {ints ?} ORDER BY delivery, place`, []any{attempted}, func(rows Rows) error {
		var n int64
		a, err := scanAttempt(rows, &n)
		entries[place[n]].Log = append(entries[place[n]].Log, a)
		return err
	})
	return entries, ns, err
}
