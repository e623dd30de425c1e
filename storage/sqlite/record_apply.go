package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"time"

	result "modernc.org/sqlite/lib"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/record"
)

// feedKept is the number of entries of the feed that are kept.
const feedKept = 10_000

func (rs recordStore) Apply(ctx context.Context, c record.Change) (feed uint64, err error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	err = rs.s.write(ctx, func(t *tx) error {
		feed, err = (&applying{tx: t, now: rs.s.opts.Now()}).all(&c)
		return err
	})
	if err != nil {
		return 0, err
	}
	return feed, nil
}

// applying is one call of Apply. It makes the change step by step. At the first error the
// transaction undoes it. Constraints of the table find duplicates, and its triggers keep the sums
// for the limits.
type applying struct {
	*tx
	now  time.Time
	feed []any // kind, id and owner of each entry
}

func (a *applying) all(c *record.Change) (feed uint64, err error) {
	for _, step := range []func(*record.Change) error{a.refuseGone, a.delete, a.put, a.limit, a.note, a.gone} {
		if err := step(c); err != nil {
			return 0, err
		}
	}
	return a.number()
}

func (a *applying) refuseGone(c *record.Change) error {
	gone, err := goneOwners(a, a.now)
	if err != nil {
		return err
	}
	for i := range c.Put {
		if gone[c.Put[i].Owner] {
			return &record.Error{Key: c.Put[i].Key, Err: record.ErrGone}
		}
	}
	return nil
}

// goneOwners returns the owners that are refused: see record.Gone. They are few at a time.
func goneOwners(a querier, now time.Time) (map[string]bool, error) {
	gone := make(map[string]bool)
	err := each(a, `SELECT owner FROM gone WHERE until > ?`, []any{nanos(now)}, func(rows *sql.Rows) error {
		var owner string
		err := rows.Scan(&owner)
		gone[owner] = true
		return wrap(err)
	})
	return gone, err
}

// expect returns an error unless the record is there, and is the owner's and of the version.
func (a *applying) expect(ref record.Ref) error {
	var version int64
	found, err := one(a, `SELECT version FROM records WHERE kind = ? AND id = ? AND owner = ?`, []any{string(ref.Kind), ref.ID, ref.Owner}, &version)
	switch {
	case err != nil:
		return err
	case !found:
		return &record.Error{Key: ref.Key, Err: record.ErrNotFound}
	case ref.Version != 0 && ref.Version != version:
		return &record.Error{Key: ref.Key, Err: record.ErrConflict}
	}
	return nil
}

func (a *applying) delete(c *record.Change) error {
	for _, ref := range c.Delete {
		if err := a.expect(ref); err != nil {
			return err
		}
	}
	for _, ref := range c.Delete {
		if err := a.deleteOne(ref.Owner, ref.Key); err != nil {
			return err
		}
	}
	return nil
}

// deleteOne deletes a record with its children, unless it was deleted with its parent.
func (a *applying) deleteOne(owner string, k record.Key) error {
	n, err := a.change(`DELETE FROM records WHERE kind = ? AND id = ?`, string(k.Kind), k.ID)
	if err != nil || n == 0 {
		return err
	}
	a.feed = append(a.feed, string(k.Kind), k.ID, owner)
	switch k.Kind {
	case record.Monitor, record.Rule:
		err = a.exec(`DELETE FROM source_totals WHERE owner = ? AND kind = ? AND source_id = ?`, owner, string(k.Kind), k.ID)
	case record.Endpoint:
		err = endDeliveries(a.tx, k.ID, a.now)
	}
	if err != nil {
		return err
	}
	var children []record.Key
	err = each(a, `SELECT kind, id FROM records WHERE owner = ? AND `+ofParent, []any{owner, string(k.Kind), k.ID}, func(rows *sql.Rows) error {
		var child record.Key
		err := rows.Scan(&child.Kind, &child.ID)
		children = append(children, child)
		return wrap(err)
	})
	for i := 0; i < len(children) && err == nil; i++ {
		err = a.deleteOne(owner, children[i])
	}
	return err
}

// endDeliveries ends the replay and the open deliveries of a deleted endpoint.
func endDeliveries(t *tx, endpointID string, now time.Time) error {
	if err := t.exec(`DELETE FROM replays WHERE endpoint_id = ?`, endpointID); err != nil {
		return err
	}
	// An event has at most one delivery to an endpoint.
	err := t.exec(`INSERT INTO settled (event, settled_at) SELECT ended.event, ?1 FROM deliveries ended
		WHERE ended.endpoint_id = ?2 AND ended.due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deliveries d
			WHERE `+ofEvent("d.n", "ended.event")+` AND d.due_at IS NOT NULL AND d.endpoint_id <> ?2)`, nanos(now), endpointID)
	if err != nil {
		return err
	}
	crashpoint.Hit("sqlite.endpoint.settled")
	return t.exec(`UPDATE deliveries SET state = 'failed', due_at = NULL, endpoint_deleted = 1
		WHERE endpoint_id = ? AND due_at IS NOT NULL`, endpointID)
}

// put stores the records without the names that are new to them, then checks Need, then sets the
// names, because records may swap them.
func (a *applying) put(c *record.Change) error {
	var taken error
	for i := range c.Put {
		p := &c.Put[i]
		n, err := a.putOne(p)
		switch {
		case err != nil:
			return err
		case n == 0 && p.Version != 0:
			return a.expect(p.Ref())
		case n == 0 && taken == nil:
			taken = &record.Error{Key: p.Key, Err: record.ErrDuplicate}
		}
		a.feed = append(a.feed, string(p.Kind), p.ID, p.Owner)
	}
	for _, ref := range c.Need {
		if err := a.expect(ref); err != nil {
			return err
		}
	}
	for i := 0; i < len(c.Put) && taken == nil; i++ {
		p := &c.Put[i]
		err := a.exec(`UPDATE records SET name = nullif(?3, ''), lookup = nullif(?4, '')
			WHERE kind = ?1 AND id = ?2 AND (name IS NOT nullif(?3, '') OR lookup IS NOT nullif(?4, ''))`, string(p.Kind), p.ID, p.Name, p.Lookup)
		if hasCode(err, result.SQLITE_CONSTRAINT) {
			return &record.Error{Key: p.Key, Err: record.ErrDuplicate}
		}
		if err != nil {
			return err
		}
	}
	return taken
}

// putOne returns 0 if the record to replace is not there or the one to create is.
func (a *applying) putOne(p *record.Record) (changed int64, err error) {
	if p.Version == 0 {
		return a.change(`INSERT INTO records (kind, id, owner, parent_kind, parent, status, size, price, version, created_at, updated_at, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO NOTHING`, string(p.Kind), p.ID, p.Owner, string(p.Parent.Kind), p.Parent.ID,
			p.Status, p.Size, p.Price, optional(p.CreatedAt), optional(p.UpdatedAt), p.Data)
	}
	return a.change(`UPDATE records SET name = CASE WHEN name IS ? THEN name END, lookup = CASE WHEN lookup IS ? THEN lookup END,
		status = ?, size = ?, price = ?, version = version + 1, updated_at = ?, data = ?
		WHERE kind = ? AND id = ? AND owner = ? AND version = ?`, p.Name, p.Lookup,
		p.Status, p.Size, p.Price, optional(p.UpdatedAt), p.Data, string(p.Kind), p.ID, p.Owner, p.Version)
}

func (a *applying) limit(c *record.Change) error {
	for i := range c.Limits {
		l := &c.Limits[i]
		have, err := a.sum(l)
		if err != nil {
			return err
		}
		if have > l.Max {
			return &record.LimitError{Limit: *l, Have: have}
		}
	}
	return nil
}

// sum adds up what a limit bounds. A limit by parent is counted, because a parent has few children.
func (a *applying) sum(l *record.Limit) (have int64, err error) {
	query := `SELECT coalesce(sum(` + []string{"count", "size", "price"}[l.Of] + `), 0) FROM record_sums WHERE owner = ? AND kind = ?`
	var of []any
	if !l.Parent.IsZero() {
		query = `SELECT coalesce(` + []string{"count(*)", "sum(size)", "sum(price)"}[l.Of] + `, 0) FROM records WHERE ` + ofParent + ` AND owner = ? AND kind = ?`
		of = []any{string(l.Parent.Kind), l.Parent.ID}
	}
	var status []any
	if l.Status != "" {
		query, status = query+` AND status = ?`, []any{l.Status}
	}
	for _, kind := range l.Kinds {
		var sum int64
		if _, err := one(a, query, slices.Concat(of, []any{l.Owner, string(kind)}, status), &sum); err != nil {
			return 0, err
		}
		have += sum
	}
	return have, nil
}

func (a *applying) note(c *record.Change) error {
	for _, n := range c.Notes {
		err := a.exec(`UPDATE records SET note = ? WHERE kind = ? AND id = ? AND owner = ? AND ? IN (0, version)`,
			n.Text, string(n.Kind), n.ID, n.Owner, n.Version)
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) gone(c *record.Change) error {
	if c.Gone == nil {
		return nil
	}
	a.feed = append(a.feed, string(record.Owner), "", c.Gone.Owner)
	if err := a.exec(`REPLACE INTO gone (owner, until) VALUES (?, ?)`, c.Gone.Owner, nanos(c.Gone.Until)); err != nil {
		return err
	}
	return a.exec(`DELETE FROM gone WHERE until <= ?`, nanos(a.now)) // the zero time is one of these
}

// number adds the change to the feed, and returns the number of its last entry.
func (a *applying) number() (last uint64, err error) {
	if len(a.feed) == 0 {
		return 0, nil
	}
	if err := a.execRows(`INSERT OR FAIL INTO feed (kind, id, owner) VALUES {rows}`, 3, a.feed); err != nil {
		return 0, err
	}
	if _, err := one(a, `SELECT max(n) FROM feed`, nil, &last); err != nil {
		return 0, err
	}
	return last, a.exec(`DELETE FROM feed WHERE n <= ?`, int64(last)-feedKept)
}
