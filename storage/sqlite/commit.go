package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	result "modernc.org/sqlite/lib"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// commit is one call of Commit in its transaction. What all its batches need is
// read first, and rows are written table by table: a statement for many rows
// costs little more than one for a single row.
type commit struct {
	t       *tx
	now     time.Time
	unknown map[string]bool // ids of events that are new, until they come
	packs   *packer
	cursors []cursorRow
	out     []outcome

	// Values of rows to write.
	deliveries []any
	enter      bool // all late events, whatever their number
	entered    bool // the ids are already
}

// outcome is what is told about a batch.
type outcome struct {
	seqs       []uint64 // of its events, 0 for one already known
	deliveries []deliver.Delivery
	unpaid     []string
}

func (c *commit) all(batches []*detect.Batch) error {
	// What reservations held is there for the charges.
	if slices.ContainsFunc(batches, func(b *detect.Batch) bool { return len(b.Charges) > 0 }) {
		if err := c.t.expire(c.now); err != nil {
			return err
		}
	}
	if err := c.findUnknown(batches); err != nil {
		return err
	}
	if err := c.findEndpoints(batches); err != nil {
		return err
	}
	c.packs.reset(c.t.w.known.packs)
	for _, b := range batches {
		if err := c.batch(b); err != nil {
			return err
		}
	}
	entered := c.t.late.entered
	c.enter = c.enter || len(c.t.late.events) >= enterAt*eventWidth
	if c.enter {
		entered = c.t.late.newest()
	}
	packs := c.packs.rows(c.t.w.known.events+c.t.events, entered, c.cursors)
	c.t.w.known.packs = c.packs.n
	c.t.moved = append(c.t.moved, c.cursors...)
	for _, rows := range []struct {
		query  string
		width  int
		values []any
	}{
		{`INSERT INTO packs (n, total, entered, cursors, fields, bodies) VALUES {rows}`, 6, packs},
		{`INSERT INTO deliveries (n, id, endpoint_id, due_at) VALUES {rows}`, 4, c.deliveries},
	} {
		// After an error there may be no transaction any more, and what runs then
		// would be one of its own.
		if err := c.t.execRows(rows.query, rows.width, rows.values); err != nil {
			return err
		}
	}
	if c.enter {
		return c.t.enter()
	}
	return nil
}

// findUnknown notes the ids of events that are not known yet. Those of many are
// entered with that.
func (c *commit) findUnknown(batches []*detect.Batch) error {
	known, above := c.t.ids()
	var ids, asked []any
	for _, b := range batches {
		for i := range b.Events {
			id := b.Events[i].ID
			if known[id] {
				continue
			}
			ids = append(ids, id)
			if id <= above {
				asked = append(asked, id)
			}
		}
	}
	if c.entered = len(ids) >= enterAt; c.entered {
		return c.enterIDs(ids)
	}
	for _, id := range ids {
		c.unknown[id.(string)] = true
	}
	return c.t.eachRows(`SELECT id FROM event_ids WHERE id IN (VALUES {rows})`, 1, asked, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		delete(c.unknown, id)
		return wrap(err)
	})
}

// enterIDs makes ids known, and notes those that were not.
func (c *commit) enterIDs(ids []any) error {
	return c.t.inRows(`INSERT INTO event_ids (id) VALUES {rows}`, 1, ids, func(insert *sql.Stmt, ids []any) error {
		_, err := insert.ExecContext(context.Background(), ids...)
		if hasCode(err, result.SQLITE_CONSTRAINT) { // one is known, and none was inserted
			return c.enterNewIDs(ids)
		}
		for _, id := range ids {
			c.unknown[id.(string)] = true
		}
		return wrap(err)
	})
}

// enterNewIDs makes those ids known that are not yet.
func (c *commit) enterNewIDs(ids []any) error {
	return c.t.eachRows(`INSERT OR IGNORE INTO event_ids (id) VALUES {rows} RETURNING id`, 1, ids, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		c.unknown[id] = true
		return wrap(err)
	})
}

// findEndpoints reads which endpoints are bound to the sources of new events,
// where that is not known.
func (c *commit) findEndpoints(batches []*detect.Batch) error {
	bound := c.t.w.known.bound
	var sources []any
	for _, b := range batches {
		for i := range b.Events {
			source := boundTo(&b.Events[i])
			if _, known := bound[source]; known || !c.unknown[b.Events[i].ID] {
				continue
			}
			bound[source] = nil
			sources = append(sources, source.Owner, source.ID)
		}
	}
	return c.t.eachRows(`WITH source (owner, id) AS (VALUES {rows})
		SELECT source.owner, source.id, e.id FROM source CROSS JOIN endpoints e ON e.owner = source.owner AND e.source_id = source.id
		WHERE e.status = '`+string(deliver.EndpointActive)+`' ORDER BY e.n`, 2, sources, func(rows *sql.Rows) error {
		var source deliver.Source
		var endpoint string
		err := rows.Scan(&source.Owner, &source.ID, &endpoint)
		bound[source] = append(bound[source], endpoint)
		return wrap(err)
	})
}

// boundTo is the part of an event's source that endpoints are bound to.
func boundTo(ev *deliver.Event) deliver.Source {
	return deliver.Source{Owner: ev.Source.Owner, ID: ev.Source.ID}
}

func (c *commit) batch(b *detect.Batch) error {
	c.out = append(c.out, outcome{seqs: make([]uint64, len(b.Events))})
	out := &c.out[len(c.out)-1]
	if b.Cursor != nil {
		gaps, err := listJSON(b.Cursor.Gaps)
		if err != nil {
			return err
		}
		c.cursors = append(c.cursors, cursorRow{b.Cursor.Target, optional(b.Cursor.Since), b.Cursor.UserID, gaps})
	}
	for i := range b.Events {
		crashpoint.Hit("sqlite.commit.batch")
		if !c.unknown[b.Events[i].ID] {
			continue
		}
		delete(c.unknown, b.Events[i].ID) // it may come again
		ev := b.Events[i]
		ev.Handlers = slices.Clone(ev.Handlers)
		if err := c.event(&ev, b.DeliverBy, out); err != nil {
			return err
		}
		out.seqs[i] = ev.Seq
	}
	for _, e := range b.Charges {
		switch err := c.t.post(e, c.now); {
		case errors.Is(err, billing.ErrInsufficient), errors.Is(err, billing.ErrAmount):
			out.unpaid = append(out.unpaid, e.ID)
		case err != nil:
			return err
		}
	}
	return nil
}

// event records a new event, and makes its deliveries.
func (c *commit) event(ev *deliver.Event, due time.Time, out *outcome) error {
	a, err := c.t.account(ev.Source.Owner)
	if err != nil {
		return err
	}
	a.lastSeq++
	ev.Seq, ev.CommittedAt = a.lastSeq, c.now
	n := c.packs.add(ev)
	c.t.late.add(ev, n)
	k := c.t.w.known
	if k.lastID = max(k.lastID, ev.ID); c.entered {
		k.above = max(k.above, ev.ID)
	} else {
		c.t.late.ids = append(c.t.late.ids, ev.ID)
		k.ids[ev.ID] = true
	}
	c.enter = c.enter || c.entered || !readsBack(ev)
	c.t.events++
	crashpoint.Hit("sqlite.commit.event")
	to := c.addressees(ev)
	if len(to) > maxDeliveries {
		return fmt.Errorf("sqlite: event with %d deliveries is not allowed: want at most %d", len(to), maxDeliveries)
	}
	for place, endpointID := range to {
		d := deliver.Delivery{
			ID: deliver.DeliveryID(ev.ID, endpointID), EndpointID: endpointID, Event: ev,
			State: deliver.StatePending, Due: due, CreatedAt: c.now,
		}
		c.deliveries = append(c.deliveries, firstDelivery(n)+int64(place), d.ID, endpointID, nanos(due))
		c.t.opened = append(c.t.opened, openedDelivery{d.ID, firstDelivery(n) + int64(place), len(to) == 1})
		out.deliveries = append(out.deliveries, d)
	}
	if len(to) == 0 {
		c.t.late.settle(nanos(c.now), n)
	}
	return nil
}

// addressees names the endpoints that get the event: those bound to its source,
// in order of creation, then its handlers, each once.
func (c *commit) addressees(ev *deliver.Event) []string {
	to := slices.Clone(c.t.w.known.bound[boundTo(ev)])
	named := make(map[string]bool, len(ev.Handlers))
	for _, name := range ev.Handlers {
		if !named[name] {
			named[name] = true
			to = append(to, deliver.HandlerEndpoint(name))
		}
	}
	return to
}
