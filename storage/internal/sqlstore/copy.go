package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/transfer"
)

// Copy is a store as the source or the target of a copy. It implements transfer.Store.
type Copy struct {
	Store      *Store
	Dialect    CopyDialect
	Place      string // for Where
	Unfinished bool   // the store is a target that was begun before
	at         transfer.Place
	End        func(ctx context.Context) error
}

// CopyDialect has what differs in a copy.
type CopyDialect struct {
	// Numbers reads the numbers of a store. SetNumbers returns what writes them.
	Numbers    func(q Querier) (transfer.Numbers, error)
	SetNumbers func(n *transfer.Numbers) []Statement
	// Mark is the statement that makes a number the version of the tables, and Version that of a
	// finished store. An unfinished copy has its negative.
	Mark    string
	Version int
	// Used selects a row if the tables were used, besides copiedTables.
	Used string
}

// Statement is one with its arguments.
type Statement struct {
	Query string
	Args  []any
}

// copiedTables are empty in a new store, as are those that go with them.
var copiedTables = []string{"records", "feed", "gone", "cursors", "owners", "events", "replays", "ledger_entries", "source_totals",
	"reservations", "removed_events", "removed_entries", "resolved_reservations", "state"}

// Where implements transfer.Store.
func (c *Copy) Where() string { return c.Place }

// Close implements transfer.Store.
func (c *Copy) Close(ctx context.Context) error { return c.End(ctx) }

// Begin implements transfer.Store. The table copying says whose copy it is and where that goes on.
func (c *Copy) Begin(ctx context.Context, source string) (at transfer.Place, err error) {
	err = c.Store.Write(ctx, func(t Tx) error {
		if c.Unfinished {
			var of string
			if _, err := One(t, `SELECT source, part, after FROM copying`, nil, &of, &at.Part, &at.After); err != nil || of == source {
				return err
			}
			return fmt.Errorf("%w (%s)", transfer.ErrOther, of)
		}
		used := c.Dialect.Used
		for _, table := range copiedTables {
			used += ` UNION ALL SELECT 1 WHERE EXISTS (SELECT 1 FROM ` + table + `)`
		}
		if is, err := One(t, used, nil); is || err != nil {
			return errors.Join(err, transfer.ErrNotEmpty)
		}
		if err := t.Exec(`CREATE TABLE copying (source text NOT NULL, part bigint NOT NULL, after text NOT NULL)`); err != nil {
			return err
		}
		if err := t.Flush(); err != nil { // the next statement needs the table
			return err
		}
		if err := t.Exec(`INSERT INTO copying (source, part, after) VALUES (?, 0, '')`, source); err != nil {
			return err
		}
		return t.Exec(fmt.Sprintf(c.Dialect.Mark, -c.Dialect.Version))
	})
	c.at = at
	return at, err
}

// Finish implements transfer.Store.
func (c *Copy) Finish(ctx context.Context) error {
	return c.Store.Write(ctx, func(t Tx) error {
		if err := t.Exec(`DROP TABLE copying`); err != nil {
			return err
		}
		return t.Exec(fmt.Sprintf(c.Dialect.Mark, c.Dialect.Version))
	})
}

// Read implements transfer.Store.
func (c *Copy) Read(ctx context.Context, from transfer.Place) (page []any, next string, last bool, err error) {
	after, err := transfer.CutKey(from.After)
	if err != nil {
		return nil, "", false, err
	}
	err = c.Store.Search(ctx, func(q Querier) error {
		page, next, last = nil, "", false // it may be made again
		switch from.Part {
		case transfer.Events:
			page, next, last, err = readEventPage(q, after)
		case transfer.Owners:
			page, next, last, err = readOwners(q, after)
		case transfer.Counters:
			var n transfer.Numbers
			n, err = c.Dialect.Numbers(q)
			page, last = []any{&n}, true
		default:
			page, next, last, err = copied[from.Part].read(q, after)
		}
		return err
	})
	return page, next, last, err
}

// Write implements transfer.Store.
func (c *Copy) Write(ctx context.Context, part transfer.Part, page []any, next transfer.Place) error {
	err := c.Store.Write(ctx, func(t Tx) (err error) {
		moved, err := t.Change(`UPDATE copying SET part = ?, after = ? WHERE part = ? AND after = ?`, int64(next.Part), next.After, int64(c.at.Part), c.at.After)
		if err == nil && moved == 0 {
			err = transfer.ErrMoved
		}
		if err != nil {
			return err
		}
		switch part {
		case transfer.Events:
			err = c.writeEvents(t, page)
		case transfer.Counters:
			for _, st := range c.Dialect.SetNumbers(page[0].(*transfer.Numbers)) {
				if err := t.Exec(st.Query, st.Args...); err != nil {
					return err
				}
			}
		default:
			into := copied[part]
			var values []any
			for _, row := range page {
				values = append(values, into.values(row)...)
			}
			err = t.ExecRows(into.insert, values)
		}
		return err
	})
	if err == nil {
		c.at = next
	}
	return err
}

// errFull ends a page.
var errFull = errors.New("page is full")

// pages counts what is in a page, and returns errFull once it has enough.
type pager struct{ rows, bytes int }

func (p *pager) add(values []any) error {
	for _, v := range values {
		switch v := v.(type) {
		case *string:
			p.bytes += len(*v)
		case *[]byte:
			p.bytes += len(*v)
		}
	}
	if p.rows++; p.rows == transfer.PageRows || p.bytes >= transfer.PageBytes {
		return errFull
	}
	return nil
}

// each calls f for each row of a query until the page is full. last means that it is not.
func (p *pager) each(q Querier, query string, args []any, f func(Rows) ([]any, error)) (last bool, err error) {
	err = each(q, query, append(args, transfer.PageRows), func(rows Rows) error {
		values, err := f(rows)
		if err == nil {
			err = p.add(values)
		}
		return err
	})
	if errors.Is(err, errFull) {
		return false, nil
	}
	return true, err
}

// readEventPage reads events with their deliveries and attempts.
func readEventPage(q Querier, after []string) (page []any, next string, last bool, err error) {
	var n int64
	if len(after) > 0 {
		if n, err = strconv.ParseInt(after[0], 10, 64); err != nil {
			return nil, "", false, err
		}
	}
	var events []*transfer.Event
	var ns []int64
	last, err = new(pager).each(q, `SELECT `+eventColumns+` FROM events WHERE n > ? ORDER BY n LIMIT ?`, []any{n}, func(rows Rows) ([]any, error) {
		e := new(transfer.Event)
		err := scanEvent(rows, &n, &e.Event)
		events, ns = append(events, e), append(ns, n)
		return []any{&e.Body, &e.TextPreview}, err
	})
	if err != nil || len(events) == 0 {
		return nil, "", last, err
	}
	// Events with very many deliveries make a smaller page.
	of := map[int64]*deliver.LogEntry{}
	place, count := 0, 0
	err = each(q, `SELECT `+deliveryColumns+` FROM deliveries d WHERE d.n BETWEEN ? AND ? ORDER BY d.n`,
		[]any{firstDelivery(ns[0]), firstDelivery(n) + maxDeliveries - 1}, func(rows Rows) error {
			var d deliveryRow
			if err := scanDelivery(rows, &d); err != nil {
				return err
			}
			for ns[place] < d.event() {
				if place++; count > 4*transfer.PageRows {
					return errFull
				}
			}
			count++
			events[place].Deliveries = append(events[place].Deliveries, deliver.LogEntry{Delivery: d.Delivery})
			return nil
		})
	if errors.Is(err, errFull) {
		events, n, last, err = events[:place], ns[place-1], false, nil
	}
	if err != nil {
		return nil, "", false, err
	}
	for i, e := range events {
		for k := range e.Deliveries {
			of[firstDelivery(ns[i])+int64(k)] = &e.Deliveries[k]
		}
		page = append(page, e)
	}
	err = each(q, `SELECT `+attemptColumns+` FROM attempts
		WHERE delivery BETWEEN ? AND ? ORDER BY delivery, place`, []any{firstDelivery(ns[0]), firstDelivery(n) + maxDeliveries - 1}, func(rows Rows) error {
		var d int64
		a, err := scanAttempt(rows, &d)
		if to := of[d]; to != nil {
			to.Log = append(to.Log, a)
		}
		return err
	})
	return page, transfer.JoinKey(n), last, err
}

func (c *Copy) writeEvents(t Tx, page []any) error {
	var n int64
	if _, err := One(t, `SELECT coalesce(max(n), 0) FROM events`, nil, &n); err != nil {
		return err
	}
	var events, deliveries, attempts []any
	for _, row := range page {
		e := row.(*transfer.Event)
		if e.Body == nil {
			e.Body = []byte{}
		}
		n++
		events = eventValues(events, n, &e.Event)
		for i := range e.Deliveries {
			d := &e.Deliveries[i]
			at := firstDelivery(n) + int64(i)
			var due any
			if !d.State.Final() {
				due = nanos(d.Due)
			}
			deliveries = append(deliveries, at, d.ID, d.EndpointID, string(d.State), due, d.Attempts, d.Uncounted, int64(d.Waited), d.EndpointDeleted)
			if c.Store.Lanes {
				deliveries = append(deliveries, int64(fleet.PartOf(d.EndpointID)))
			}
			for k := range d.Log {
				attempts = appendAttempt(attempts, at, k, &d.Log[k])
			}
		}
	}
	part, partType := "", ""
	if c.Store.Lanes {
		part, partType = ", part", ",int"
	}
	err := t.ExecRows(insertEvents, events)
	if err == nil {
		err = t.ExecRows(`{insert} deliveries (n, id, endpoint_id, state, due_at, attempts, uncounted, waited, endpoint_deleted`+part+`)
			{rows int,text,text,text,int,int,int,int,bool`+partType+`}`, deliveries)
	}
	if err == nil {
		err = t.ExecRows(insertAttempts, attempts)
	}
	return err
}

// readOwners reads owners that have something. Some have events and no row in owners.
func readOwners(q Querier, after []string) (page []any, next string, last bool, err error) {
	first, args, seen := `SELECT min(owner) FROM owners UNION ALL SELECT min(owner) FROM events`, []any{transfer.PageRows}, 0
	if len(after) > 0 {
		first, args = `SELECT min(owner) FROM owners WHERE owner > ?2 UNION ALL SELECT min(owner) FROM events WHERE owner > ?2`, append(args, after[0])
	}
	err = each(q, `WITH RECURSIVE found (owner, i) AS (SELECT min(first.owner), 1 FROM (`+strings.Replace(first, "min(owner)", "min(owner) AS owner", 1)+`) AS first
		UNION ALL SELECT (SELECT min(more.owner) FROM (SELECT min(o.owner) AS owner FROM owners o WHERE o.owner > found.owner
			UNION ALL SELECT min(e.owner) FROM events e WHERE e.owner > found.owner) AS more), found.i + 1
			FROM found WHERE found.owner IS NOT NULL AND found.i < ?1)
		SELECT found.owner, coalesce(o.available, 0), coalesce(o.reserved, 0),
			{max}(coalesce(o.removed_seq, 0), coalesce((SELECT max(e.seq) FROM events e WHERE e.owner = found.owner), 0))
		FROM found LEFT JOIN owners o ON o.owner = found.owner WHERE found.owner IS NOT NULL ORDER BY found.i`, args, func(rows Rows) error {
		o := new(transfer.Owner)
		err := rows.Scan(&o.Owner, &o.Available, &o.Reserved, &o.Last)
		if *o != (transfer.Owner{Owner: o.Owner}) {
			page = append(page, o)
		}
		seen++
		next = transfer.JoinKey(o.Owner)
		return err
	})
	return page, next, seen < transfer.PageRows, err
}
