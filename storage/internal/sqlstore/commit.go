package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/record"
)

// commit is one call of Journal.Commit. It asks for the rows that all batches need, then writes one
// table after the other. A statement for many rows costs little more than one for a single row.
type commit struct {
	*Store
	t       Tx
	ledger  *ledgerTx
	now     time.Time
	known   map[string]bool             // ids of events recorded by earlier calls or by this one
	bound   map[deliver.Source][]string // ids of active endpoints, by owner, kind and id of the source
	gone    refused                     // owners whose events and charges are dropped
	dropped []string                    // those that had some
	lastSeq map[string]uint64           // by owner
	numbers []int64                     // events.n for new events
	made    int                         // events
	out     []outcome

	events, deliveries, settled []any // rows to write
	cursors                     map[string]*detect.Cursor
}

// outcome holds the values that Commit sets in a batch.
type outcome struct {
	seqs       []uint64 // of the batch's events; 0 for one already known
	deliveries []deliver.Delivery
	unpaid     []string
}

func newCommit(s *Store, t Tx) *commit {
	now := s.Now()
	return &commit{
		Store: s, t: t, ledger: newLedgerTx(s, t, now), now: now,
		known: make(map[string]bool), bound: make(map[deliver.Source][]string), lastSeq: make(map[string]uint64),
	}
}

func (c *commit) all(batches []*detect.Batch) error {
	if err := c.Fence(c.t, batches); err != nil {
		return err
	}
	var charges []billing.Entry
	for _, b := range batches {
		charges = append(charges, b.Charges...)
	}
	if err := c.LockOwners(c.t, ownersOf(batches)...); err != nil {
		return err
	}
	if err := c.gone.ask(c.t, c.now); err != nil {
		return err
	}
	for _, ask := range []func([]*detect.Batch) error{c.askKnown, c.askEndpoints, c.askNumbers} {
		if err := ask(batches); err != nil {
			return err
		}
	}
	if err := c.ledger.load(charges...); err != nil { // which flushes
		return err
	}
	for _, b := range batches {
		if err := c.batch(b); err != nil {
			return err
		}
	}
	return c.write()
}

// ownersOf returns the owners of the batches' events and charges.
func ownersOf(batches []*detect.Batch) (owners Texts) {
	for _, b := range batches {
		for i := range b.Events {
			owners = append(owners, b.Events[i].Source.Owner)
		}
		for i := range b.Charges {
			owners = append(owners, b.Charges[i].Owner)
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// askKnown asks which of the batches' events are already recorded.
func (c *commit) askKnown(batches []*detect.Batch) error {
	var ids []any
	for _, b := range batches {
		for i := range b.Events {
			ids = append(ids, b.Events[i].ID)
		}
	}
	// For EXISTS, PostgreSQL would hash all events: it planned when there were few.
	return c.t.AskRows(`WITH asked (id) AS ({rows text}) SELECT id FROM asked
		WHERE coalesce((SELECT 1 FROM events e WHERE e.id = asked.id), (SELECT 1 FROM removed_events r WHERE r.id = asked.id)) IS NOT NULL`,
		ids, func(rows Rows) error {
			var id string
			err := rows.Scan(&id)
			c.known[id] = true
			return err
		})
}

// askEndpoints asks for the active endpoints of the sources of new events.
func (c *commit) askEndpoints(batches []*detect.Batch) error {
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
	return c.t.AskRows(`WITH source (owner, kind, id) AS ({rows text,text,text})
		SELECT source.owner, source.kind, source.id, r.id FROM source {join} records r
		ON r.owner = source.owner AND r.parent_kind = source.kind AND r.parent = source.id AND r.parent <> ''
		WHERE r.kind = '`+string(record.Endpoint)+`' AND r.status = '`+string(deliver.EndpointActive)+`' ORDER BY r.n`,
		sources, func(rows Rows) error {
			var source deliver.Source
			var endpoint string
			err := rows.Scan(&source.Owner, &source.Kind, &source.ID, &endpoint)
			c.bound[source] = append(c.bound[source], endpoint)
			return err
		})
}

// boundTo returns the source of an event with only the fields that identify it.
func boundTo(ev *deliver.Event) deliver.Source {
	return deliver.Source{Owner: ev.Source.Owner, Kind: ev.Source.Kind, ID: ev.Source.ID}
}

// askNumbers asks for the last event number of each owner, and for events.n.
func (c *commit) askNumbers(batches []*detect.Batch) error {
	count := 0
	for _, b := range batches {
		count += len(b.Events)
	}
	if count > 0 {
		if err := c.NumberEvents(c.t, count, &c.numbers); err != nil {
			return err
		}
	}
	var owners []any
	for source := range c.bound {
		if _, asked := c.lastSeq[source.Owner]; !asked {
			c.lastSeq[source.Owner] = 0
			owners = append(owners, source.Owner)
		}
	}
	return c.t.AskRows(`WITH asked (owner) AS ({rows text})
		SELECT owner, coalesce(nullif({max}(coalesce((SELECT max(e.seq) FROM events e WHERE e.owner = asked.owner), 0),
			coalesce((SELECT o.removed_seq FROM owners o WHERE o.owner = asked.owner), 0)), 0), (SELECT erased_seq FROM totals))
			FROM asked`, owners, func(rows Rows) error {
		var owner string
		var seq uint64
		err := rows.Scan(&owner, &seq)
		c.lastSeq[owner] = seq
		return err
	})
}

func (c *commit) batch(b *detect.Batch) error {
	c.out = append(c.out, outcome{seqs: make([]uint64, len(b.Events))})
	out := &c.out[len(c.out)-1]
	if b.Cursor != nil {
		if c.cursors == nil {
			c.cursors = make(map[string]*detect.Cursor)
		}
		c.cursors[b.Cursor.Target] = b.Cursor
	}
	for i := range b.Events {
		crashpoint.Hit("sqlstore.commit.batch")
		if c.gone.has(b.Events[i].Source.Owner) {
			c.dropped = append(c.dropped, b.Events[i].Source.Owner)
			continue
		}
		if c.known[b.Events[i].ID] {
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
			c.dropped = append(c.dropped, e.Owner)
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
	n := c.numbers[0]
	c.numbers = c.numbers[1:]
	ev.Seq, ev.CommittedAt = c.lastSeq[ev.Source.Owner], c.now
	c.events = eventValues(c.events, n, ev)
	c.made++
	bound := c.bound[boundTo(ev)]
	to := receivers(bound, ev.Handlers)
	if len(to) > maxDeliveries {
		return fmt.Errorf("%s: event with %d deliveries is not allowed: want at most %d", c.Name, len(to), maxDeliveries)
	}
	for place, endpointID := range to {
		d := deliver.Delivery{
			ID: deliver.DeliveryIDInEpoch(c.DeliveryEpoch, ev.ID, endpointID), EndpointID: endpointID, Event: ev,
			State: deliver.StatePending, Due: b.DeliverBy, CreatedAt: c.now,
		}
		if c.Lanes && place < len(bound) && !b.Lanes.Has(fleet.PartOf(endpointID)) {
			d.Due = c.now // another engine sends it
		}
		c.deliveries = c.deliveryValues(c.deliveries, firstDelivery(n)+int64(place), &d)
		out.deliveries = append(out.deliveries, d)
	}
	if len(to) == 0 {
		c.settled = append(c.settled, n, nanos(c.now))
	}
	crashpoint.Hit("sqlstore.commit.event")
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
	var cursors []any
	for _, cur := range c.cursors {
		cursors = append(cursors, cursorValues(cur)...)
	}
	for _, rows := range []struct {
		query  string
		values []any
	}{
		{insertEvents, c.events},
		{c.insertDeliveries(), c.deliveries},
		{`{insert} settled (event, settled_at) {rows int,int}`, c.settled},
		{`{insert} cursors (` + cursorColumns + `) {rows text,int,text,text,text} ON CONFLICT (target) DO UPDATE
			SET since = excluded.since, user_id = excluded.user_id, gaps = excluded.gaps, position = excluded.position`, cursors},
	} {
		// Stop at the first error. SQLite may have ended the transaction, and a later statement
		// would then be committed on its own.
		if err := c.t.ExecRows(rows.query, rows.values); err != nil {
			return err
		}
		crashpoint.Hit("sqlstore.commit.table")
	}
	c.t.Added(c.made)
	if err := c.ledger.save(); err != nil || len(c.dropped) == 0 {
		return err
	}
	return dropEmpty(c.t, c.dropped...)
}
