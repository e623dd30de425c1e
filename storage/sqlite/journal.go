package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/internal/crashpoint"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

// Commit refuses a batch, before anything is changed, when an event lacks ID,
// Source.ID or Body, a charge lacks ID, or the cursor lacks Target.
func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		if err := checkBatch(b); err != nil {
			return &detect.BatchError{Batch: b, Err: err}
		}
	}
	var c *commit
	err := j.s.write(ctx, func(t *tx) error {
		c = &commit{t: t, now: j.s.opts.Now(), seqs: map[string]uint64{}, bound: map[deliver.Source][]string{}}
		return c.all(batches)
	})
	if err != nil {
		return err
	}
	// Only what is on the disk is said to be recorded.
	for i, b := range batches {
		out := c.out[i]
		for k := range b.Events {
			b.Events[k].Seq = out.seqs[k]
			if out.seqs[k] != 0 {
				b.Events[k].CommittedAt = c.now
			}
		}
		b.Deliveries = append(b.Deliveries, out.deliveries...)
		b.Unpaid = append(b.Unpaid, out.unpaid...)
	}
	return nil
}

func (j journal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	var found []detect.Cursor
	err := j.s.read(ctx, func(r *snapshot) error {
		list, err := listJSON(targets)
		if err != nil {
			return err
		}
		return each(r, `SELECT target, since, user_id, gaps FROM cursors WHERE target IN (SELECT value FROM json_each(?))`,
			[]any{list}, func(rows *sql.Rows) error {
				var c detect.Cursor
				if err := rows.Scan(&c.Target, timeColumn{&c.Since}, &c.UserID, jsonColumn{&c.Gaps}); err != nil {
					return wrap(err)
				}
				found = append(found, c)
				return nil
			})
	})
	return found, err
}

func checkBatch(b *detect.Batch) error {
	for i := range b.Events {
		ev := &b.Events[i]
		switch {
		case ev.ID == "":
			return &deliver.FieldError{Field: "Event.ID", Allowed: "the event's id"}
		case ev.Source.ID == "":
			return &deliver.FieldError{Field: "Event.Source.ID", Allowed: "the id of a monitor or rule"}
		case len(ev.Body) == 0:
			return &deliver.FieldError{Field: "Event.Body", Allowed: "the encoded event"}
		}
	}
	for i := range b.Charges {
		if err := checkEntry(&b.Charges[i]); err != nil {
			return err
		}
	}
	if b.Cursor != nil && b.Cursor.Target == "" {
		return &deliver.FieldError{Field: "Cursor.Target", Allowed: "the polled target"}
	}
	return nil
}

// commit is one call of Commit in its transaction. What its events share is
// read once.
type commit struct {
	t     *tx
	now   time.Time
	seqs  map[string]uint64           // last sequence number by owner
	bound map[deliver.Source][]string // endpoints by source
	out   []outcome
}

// outcome is what is told about a batch.
type outcome struct {
	seqs       []uint64 // of its events, 0 for one already known
	deliveries []deliver.Delivery
	unpaid     []string
}

func (c *commit) all(batches []*detect.Batch) error {
	// What reservations held is there for the charges.
	if err := c.t.expire(c.now); err != nil {
		return err
	}
	for _, b := range batches {
		if err := c.batch(b); err != nil {
			return err
		}
	}
	for owner, seq := range c.seqs {
		err := c.t.exec(`INSERT INTO owners (owner, last_seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET last_seq = excluded.last_seq`, owner, int64(seq))
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) batch(b *detect.Batch) error {
	c.out = append(c.out, outcome{seqs: make([]uint64, len(b.Events))})
	out := &c.out[len(c.out)-1]
	if b.Cursor != nil {
		gaps, err := listJSON(b.Cursor.Gaps)
		if err != nil {
			return err
		}
		err = c.t.exec(`INSERT INTO cursors (target, since, user_id, gaps) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET since = excluded.since, user_id = excluded.user_id, gaps = excluded.gaps`,
			b.Cursor.Target, optional(b.Cursor.Since), b.Cursor.UserID, gaps)
		if err != nil {
			return err
		}
	}
	for i := range b.Events {
		ev := b.Events[i]
		ev.Handlers = slices.Clone(ev.Handlers)
		crashpoint.Hit("sqlite.commit.batch")
		ds, err := c.event(&ev, b.DeliverBy)
		if err != nil {
			return err
		}
		out.seqs[i] = ev.Seq
		out.deliveries = append(out.deliveries, ds...)
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

// event records an event, unless its id is known, and its deliveries.
func (c *commit) event(ev *deliver.Event, due time.Time) ([]deliver.Delivery, error) {
	ev.Seq = 0
	known, err := c.t.exists(`SELECT 1 FROM events WHERE id = ?1 UNION ALL SELECT 1 FROM removed_events WHERE id = ?1`, ev.ID)
	if known || err != nil {
		return nil, err
	}
	if ev.Seq, err = c.nextSeq(ev.Source.Owner); err != nil {
		return nil, err
	}
	ev.CommittedAt = c.now
	n, err := c.t.insertEvent(ev)
	if err != nil {
		return nil, err
	}
	crashpoint.Hit("sqlite.commit.event")
	to, err := c.addressees(ev)
	if err != nil {
		return nil, err
	}
	var ds []deliver.Delivery
	for _, endpointID := range to {
		d := deliver.Delivery{
			ID: deliver.DeliveryID(ev.ID, endpointID), EndpointID: endpointID, Event: ev,
			State: deliver.StatePending, Due: due, CreatedAt: c.now,
		}
		// There is one already for a handler named twice.
		made, err := c.t.change(`INSERT INTO deliveries (id, event, owner, source_id, endpoint_id, state, due_at, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			d.ID, n, ev.Source.Owner, ev.Source.ID, endpointID, string(d.State), nanos(due), nanos(c.now))
		if err != nil {
			return nil, err
		}
		if made > 0 {
			ds = append(ds, d)
		}
	}
	if len(ds) == 0 {
		return nil, c.t.settle(n, c.now)
	}
	return ds, nil
}

func (c *commit) nextSeq(owner string) (uint64, error) {
	if _, ok := c.seqs[owner]; !ok {
		var last int64
		if _, err := one(c.t, `SELECT last_seq FROM owners WHERE owner = ?`, []any{owner}, &last); err != nil {
			return 0, err
		}
		c.seqs[owner] = uint64(last)
	}
	c.seqs[owner]++
	return c.seqs[owner], nil
}

// addressees names the endpoints that get the event: those bound to its source,
// in order of creation, then its handlers.
func (c *commit) addressees(ev *deliver.Event) ([]string, error) {
	source := deliver.Source{Owner: ev.Source.Owner, ID: ev.Source.ID}
	bound, ok := c.bound[source]
	if !ok {
		err := each(c.t, `SELECT id FROM endpoints WHERE owner = ? AND source_id = ? AND status = ? ORDER BY n`,
			[]any{source.Owner, source.ID, string(deliver.EndpointActive)}, func(rows *sql.Rows) error {
				var id string
				err := rows.Scan(&id)
				bound = append(bound, id)
				return wrap(err)
			})
		if err != nil {
			return nil, err
		}
		c.bound[source] = bound
	}
	to := slices.Clone(bound)
	for _, name := range ev.Handlers {
		to = append(to, deliver.HandlerEndpoint(name))
	}
	return to, nil
}
