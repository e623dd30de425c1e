package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/record"
)

// commit is one call of Journal.Commit. It reads the rows that all batches need, then writes one
// table after the other. A statement for many rows costs little more than one for a single row.
type commit struct {
	t       *tx
	epoch   uint64 // of the store
	ledger  *ledgerTx
	now     time.Time
	known   map[string]bool             // ids of events recorded by earlier calls or by this one
	bound   map[deliver.Source][]string // ids of active endpoints, by owner, kind and id of the source
	gone    refused                     // owners whose events and charges are dropped
	lastSeq map[string]uint64           // by owner
	newest  int64                       // highest events.n
	out     []outcome

	events, deliveries, settled, cursors []any // rows to write
}

// outcome holds the values that Commit sets in a batch.
type outcome struct {
	seqs       []uint64 // of the batch's events; 0 for one already known
	deliveries []deliver.Delivery
	unpaid     []string
}

func newCommit(t *tx, now time.Time, epoch uint64) *commit {
	return &commit{
		t: t, epoch: epoch, ledger: newLedgerTx(t, now), now: now,
		known: make(map[string]bool), bound: make(map[deliver.Source][]string), lastSeq: make(map[string]uint64),
	}
}

func (c *commit) all(batches []*detect.Batch) error {
	// Charges may use the credits of expired reservations.
	if slices.ContainsFunc(batches, func(b *detect.Batch) bool { return len(b.Charges) > 0 }) {
		if err := c.ledger.expire(); err != nil {
			return err
		}
	}
	var err error
	if c.gone, err = refusedOwners(c.t, c.now); err != nil {
		return err
	}
	for _, read := range []func([]*detect.Batch) error{c.readKnown, c.readEndpoints, c.readNumbers} {
		if err := read(batches); err != nil {
			return err
		}
	}
	for _, b := range batches {
		if err := c.batch(b); err != nil {
			return err
		}
	}
	return c.write()
}

// readKnown reads which of the batches' events are already recorded.
func (c *commit) readKnown(batches []*detect.Batch) error {
	var ids []any
	for _, b := range batches {
		for i := range b.Events {
			ids = append(ids, b.Events[i].ID)
		}
	}
	return c.t.eachRows(`WITH asked (id) AS (VALUES {rows}) SELECT id FROM asked
		WHERE EXISTS (SELECT 1 FROM events e WHERE e.id = asked.id) OR EXISTS (SELECT 1 FROM removed_events r WHERE r.id = asked.id)`,
		1, ids, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			c.known[id] = true
			return wrap(err)
		})
}

// readEndpoints reads the active endpoints of the sources of new events.
func (c *commit) readEndpoints(batches []*detect.Batch) error {
	var sources []any
	for _, b := range batches {
		for i := range b.Events {
			source := boundTo(&b.Events[i])
			if _, asked := c.bound[source]; asked || c.known[b.Events[i].ID] {
				continue
			}
			c.bound[source] = nil
			sources = append(sources, source.Owner, string(source.Kind), source.ID)
		}
	}
	return c.t.eachRows(`WITH source (owner, kind, id) AS (VALUES {rows})
		SELECT source.owner, source.kind, source.id, r.id FROM source CROSS JOIN records r
		ON r.owner = source.owner AND r.parent_kind = source.kind AND r.parent = source.id AND r.parent <> ''
		WHERE r.kind = '`+string(record.Endpoint)+`' AND r.status = '`+string(deliver.EndpointActive)+`' ORDER BY r.n`,
		3, sources, func(rows *sql.Rows) error {
			var source deliver.Source
			var endpoint string
			err := rows.Scan(&source.Owner, &source.Kind, &source.ID, &endpoint)
			c.bound[source] = append(c.bound[source], endpoint)
			return wrap(err)
		})
}

// boundTo returns the source of an event with only the fields that identify it.
func boundTo(ev *deliver.Event) deliver.Source {
	return deliver.Source{Owner: ev.Source.Owner, Kind: ev.Source.Kind, ID: ev.Source.ID}
}

// readNumbers reads the last event number of each owner, and the highest events.n.
func (c *commit) readNumbers([]*detect.Batch) error {
	var owners []any
	for source := range c.bound {
		if _, asked := c.lastSeq[source.Owner]; !asked {
			c.lastSeq[source.Owner] = 0
			owners = append(owners, source.Owner)
		}
	}
	return c.t.eachRows(`WITH asked (owner) AS (VALUES {rows})
		SELECT owner, coalesce(nullif(max(coalesce((SELECT max(e.seq) FROM events e WHERE e.owner = asked.owner), 0),
			coalesce((SELECT o.removed_seq FROM owners o WHERE o.owner = asked.owner), 0)), 0), (SELECT erased_seq FROM totals)), `+newestEvent+`
			FROM asked`, 1, owners, func(rows *sql.Rows) error {
		var owner string
		var seq uint64
		err := rows.Scan(&owner, &seq, &c.newest)
		c.lastSeq[owner] = seq
		return wrap(err)
	})
}

func (c *commit) batch(b *detect.Batch) error {
	c.out = append(c.out, outcome{seqs: make([]uint64, len(b.Events))})
	out := &c.out[len(c.out)-1]
	if b.Cursor != nil {
		c.cursors = append(c.cursors, b.Cursor.Target, optional(b.Cursor.Since), b.Cursor.UserID, jsonColumn{b.Cursor.Gaps}, b.Cursor.Position)
	}
	for i := range b.Events {
		crashpoint.Hit("sqlite.commit.batch")
		if c.known[b.Events[i].ID] || c.gone.has(b.Events[i].Source.Owner) {
			continue
		}
		c.known[b.Events[i].ID] = true // the id may occur twice in this call
		ev := b.Events[i]
		ev.Handlers = slices.Clone(ev.Handlers)
		if err := c.event(&ev, b, out); err != nil {
			return err
		}
		out.seqs[i] = ev.Seq
	}
	for _, e := range b.Charges {
		if c.gone.has(e.Owner) {
			continue
		}
		switch err := c.ledger.post(e); {
		case errors.Is(err, billing.ErrInsufficient), errors.Is(err, billing.ErrAmount):
			out.unpaid = append(out.unpaid, e.ID)
		case err != nil:
			return err
		}
	}
	return nil
}

// event records a new event and makes its deliveries.
func (c *commit) event(ev *deliver.Event, b *detect.Batch, out *outcome) error {
	c.lastSeq[ev.Source.Owner]++
	c.newest++
	ev.Seq, ev.CommittedAt = c.lastSeq[ev.Source.Owner], c.now
	c.events = eventValues(c.events, c.newest, ev)
	to := receivers(c.bound[boundTo(ev)], ev.Handlers)
	if len(to) > maxDeliveries {
		return fmt.Errorf("sqlite: event with %d deliveries is not allowed: want at most %d", len(to), maxDeliveries)
	}
	for place, endpointID := range to {
		d := deliver.Delivery{
			ID: deliver.DeliveryIDInEpoch(c.epoch, ev.ID, endpointID), EndpointID: endpointID, Event: ev,
			State: deliver.StatePending, Due: b.DeliverBy, CreatedAt: c.now,
		}
		c.deliveries = append(c.deliveries, firstDelivery(c.newest)+int64(place), d.ID, endpointID, nanos(b.DeliverBy))
		out.deliveries = append(out.deliveries, d)
	}
	if len(to) == 0 {
		c.settled = append(c.settled, c.newest, nanos(c.now))
	}
	crashpoint.Hit("sqlite.commit.event")
	return nil
}

// receivers returns the endpoints that receive an event, without duplicates: first those bound to
// its source, in order of creation, then its handlers.
func receivers(bound, handlers []string) []string {
	to := slices.Clone(bound)
	named := make(map[string]bool, len(handlers))
	for _, name := range handlers {
		if !named[name] {
			named[name] = true
			to = append(to, deliver.HandlerEndpoint(name))
		}
	}
	return to
}

// write writes the rows that the batches have made.
func (c *commit) write() error {
	for _, rows := range []struct {
		query  string
		width  int
		values []any
	}{
		{`INSERT OR FAIL INTO events (` + eventColumns + `, author_key) VALUES {rows}`, eventWidth, c.events},
		{`INSERT OR FAIL INTO deliveries (n, id, endpoint_id, due_at) VALUES {rows}`, 4, c.deliveries},
		{`INSERT OR FAIL INTO settled (event, settled_at) VALUES {rows}`, 2, c.settled},
		{`REPLACE INTO cursors (target, since, user_id, gaps, position) VALUES {rows}`, 5, c.cursors},
	} {
		// Stop at the first error. SQLite may have ended the transaction, and a later statement
		// would then be committed on its own.
		if err := c.t.execRows(rows.query, rows.width, rows.values); err != nil {
			return err
		}
		crashpoint.Hit("sqlite.commit.table")
	}
	c.t.added += len(c.events) / eventWidth
	return c.ledger.save()
}
