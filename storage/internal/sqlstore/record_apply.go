package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/record"
)

// feedKept is the number of entries of the feed that are kept.
const feedKept = 10_000

func (rs recordStore) Apply(ctx context.Context, c record.Change) (feed uint64, err error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	err = rs.Write(ctx, func(t Tx) error {
		feed, err = (&applying{Store: rs.Store, t: t, now: rs.Now()}).all(&c)
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
	*Store
	t    Tx
	now  time.Time
	feed []record.Entry // without numbers
}

func (a *applying) all(c *record.Change) (feed uint64, err error) {
	if err := a.LockOwners(a.t, changedOwners(c)...); err != nil {
		return 0, err
	}
	for _, step := range []func(*record.Change) error{a.refuseGone, a.delete, a.put, a.limit, a.note, a.gone} {
		if err := step(c); err != nil {
			return 0, err
		}
	}
	return a.number()
}

// changedOwners returns the owners of the records of a change.
func changedOwners(c *record.Change) (owners Texts) {
	for _, ref := range c.Delete {
		owners = append(owners, ref.Owner)
	}
	for i := range c.Put {
		owners = append(owners, c.Put[i].Owner)
	}
	for _, ref := range c.Need {
		owners = append(owners, ref.Owner)
	}
	for i := range c.Limits {
		owners = append(owners, c.Limits[i].Owner)
	}
	for i := range c.Notes {
		owners = append(owners, c.Notes[i].Owner)
	}
	if c.Gone != nil {
		owners = append(owners, c.Gone.Owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

func (a *applying) refuseGone(c *record.Change) error {
	gone, err := refusedOwners(a.t, a.now)
	if err != nil {
		return err
	}
	for i := range c.Put {
		if gone.has(c.Put[i].Owner) {
			return &record.Error{Key: c.Put[i].Key, Err: record.ErrGone}
		}
	}
	return nil
}

// refused has the owners that are refused, by record.OwnerID: see record.Gone. They are few at a
// time.
type refused []string

func (r refused) has(owner string) bool {
	return len(r) > 0 && slices.Contains(r, record.OwnerID(owner))
}

const refusedQuery = `SELECT owner_id FROM gone WHERE until > ?`

func refusedOwners(q Querier, now time.Time) (refused, error) {
	return column[string](q, refusedQuery, nanos(now))
}

// ask is refusedOwners with Tx.Ask.
func (r *refused) ask(t Tx, now time.Time) error {
	return t.Ask(refusedQuery, []any{nanos(now)}, func(rows Rows) error {
		var id string
		err := rows.Scan(&id)
		*r = append(*r, id)
		return err
	})
}

// expect returns an error unless the records are there, their owners' and of the versions.
func (a *applying) expect(refs ...record.Ref) error {
	for _, ref := range refs {
		var version int64
		found, err := One(a.t, `SELECT version FROM records WHERE `+byKey, []any{string(ref.Kind), ref.ID, ref.Owner}, &version)
		switch {
		case err != nil:
			return err
		case !found:
			return &record.Error{Key: ref.Key, Err: record.ErrNotFound}
		case ref.Version != 0 && ref.Version != version:
			return &record.Error{Key: ref.Key, Err: record.ErrConflict}
		}
	}
	return nil
}

// delete deletes records and their children. Some may be gone already, with their parents.
func (a *applying) delete(c *record.Change) error {
	if err := a.expect(c.Delete...); err != nil {
		return err
	}
	for _, ref := range c.Delete {
		for _, which := range []string{byKey, ofParent + ` AND owner = ?`} {
			deleted, err := all(a.t, `DELETE FROM records WHERE `+which+` RETURNING kind, id`, []any{string(ref.Kind), ref.ID, ref.Owner},
				func(rows Rows, k *record.Key) error { return rows.Scan(&k.Kind, &k.ID) })
			if err != nil {
				return err
			}
			for _, k := range deleted {
				if err := a.deleted(k, ref.Owner); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// deleted removes what ends with a record.
func (a *applying) deleted(k record.Key, owner string) error {
	crashpoint.Hit("sqlstore.record.deleted")
	a.feed = append(a.feed, record.Entry{Key: k, Owner: owner})
	switch k.Kind {
	case record.Monitor, record.Rule:
		return a.t.Exec(`DELETE FROM source_totals WHERE owner = ? AND kind = ? AND source_id = ?`, owner, string(k.Kind), k.ID)
	case record.Endpoint:
		return a.endDeliveries(k.ID)
	}
	return nil
}

// endDeliveries ends the replay and the open deliveries of a deleted endpoint.
func (a *applying) endDeliveries(endpointID string) error {
	if err := a.t.Exec(`DELETE FROM replays WHERE endpoint_id = ?`, endpointID); err != nil {
		return err
	}
	if err := lock(a.t, a.LockEndpoint, endpointID); err != nil {
		return err
	}
	// An event has at most one delivery to an endpoint.
	err := a.t.Exec(`INSERT INTO settled (event, settled_at) SELECT ended.event, ?1 FROM deliveries ended
		WHERE ended.endpoint_id = ?2 AND ended.due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deliveries d
			WHERE `+ofEvent("d.n", "ended.event")+` AND `+isOpen+` AND d.endpoint_id <> ?2)`, nanos(a.now), endpointID)
	if err != nil {
		return err
	}
	crashpoint.Hit("sqlstore.endpoint.settled")
	return a.t.Exec(`UPDATE deliveries SET state = 'failed', due_at = NULL, endpoint_deleted = TRUE
		WHERE endpoint_id = ? AND due_at IS NOT NULL`, endpointID)
}

// put stores the records, at first without the names that are new to them, because records may
// swap their names.
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
		a.feed = append(a.feed, record.Entry{Key: p.Key, Owner: p.Owner})
		crashpoint.Hit("sqlstore.record.put")
	}
	if err := a.expect(c.Need...); err != nil {
		return err
	}
	if taken != nil {
		return taken
	}
	for i := range c.Put {
		p := &c.Put[i]
		_, err := a.t.Change(`UPDATE records SET name = nullif(?3, ''), lookup = nullif(?4, '') WHERE kind = ?1 AND id = ?2
			AND (name IS DISTINCT FROM nullif(?3, '') OR lookup IS DISTINCT FROM nullif(?4, ''))`, string(p.Kind), p.ID, p.Name, p.Lookup)
		if a.Duplicate(err) {
			return &record.Error{Key: p.Key, Err: record.ErrDuplicate}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putOne returns 0 if the record to replace is not there or the one to create is.
func (a *applying) putOne(p *record.Record) (changed int64, err error) {
	if p.Version == 0 {
		return a.t.Change(`INSERT INTO records (kind, id, owner, parent_kind, parent, status, size, price, version, created_at, updated_at, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO NOTHING`, string(p.Kind), p.ID, p.Owner, string(p.Parent.Kind), p.Parent.ID,
			p.Status, p.Size, p.Price, optional(p.CreatedAt), optional(p.UpdatedAt), p.Data)
	}
	return a.t.Change(`UPDATE records SET name = CASE WHEN name = ? THEN name END, lookup = CASE WHEN lookup = ? THEN lookup END,
		status = ?, size = ?, price = ?, version = version + 1, updated_at = ?, data = ?
		WHERE kind = ? AND id = ? AND owner = ? AND version = ?`, p.Name, p.Lookup,
		p.Status, p.Size, p.Price, optional(p.UpdatedAt), p.Data, string(p.Kind), p.ID, p.Owner, p.Version)
}

func (a *applying) limit(c *record.Change) error {
	for _, l := range c.Limits {
		var have int64
		for _, kind := range l.Kinds {
			sum, err := sumRecords(a.t, l.Of, &record.Query{Owner: l.Owner, Kind: kind, Parent: l.Parent, Status: l.Status})
			if err != nil {
				return err
			}
			have += sum
		}
		if have > l.Max {
			return &record.LimitError{Limit: l, Have: have}
		}
	}
	return nil
}

func (a *applying) note(c *record.Change) error {
	for _, n := range c.Notes {
		query, args := `UPDATE records SET note = ? WHERE `+byKey, []any{n.Text, string(n.Kind), n.ID, n.Owner}
		if n.Version != 0 {
			query, args = query+` AND version = ?`, append(args, n.Version)
		}
		if err := a.t.Exec(query, args...); err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) gone(c *record.Change) error {
	if c.Gone == nil {
		return nil
	}
	id := record.OwnerID(c.Gone.Owner)
	a.feed = append(a.feed, record.Entry{Key: record.Key{Kind: record.Owner, ID: id}})
	if err := a.t.Exec(`INSERT INTO gone (owner_id, until) VALUES (?, ?) ON CONFLICT (owner_id) DO UPDATE SET until = excluded.until`, id, nanos(c.Gone.Until)); err != nil {
		return err
	}
	if err := a.t.Exec(`DELETE FROM gone WHERE until <= ?`, nanos(a.now)); err != nil { // the zero time is one of these
		return err
	}
	return dropEmpty(a.t, c.Gone.Owner)
}

// dropEmpty removes the rows of owners that have nothing: only a lock made them.
func dropEmpty(t Tx, owners ...string) error {
	return t.Exec(`DELETE FROM owners WHERE owner IN {texts ?} AND available = 0 AND reserved = 0 AND removed_seq = 0`, Texts(owners))
}

// number adds the change to the feed, and returns the number of its last entry.
func (a *applying) number() (last uint64, err error) {
	if len(a.feed) == 0 {
		return 0, nil
	}
	count := len(a.feed)
	if _, err := One(a.t, a.Feed, []any{int64(count)}, &last); err != nil {
		return 0, err
	}
	var rows []any
	for i, e := range a.feed {
		rows = append(rows, int64(last)-int64(count-1-i), string(e.Kind), e.ID, e.Owner)
	}
	if err := a.t.ExecRows(`{insert} feed (n, kind, id, owner) {rows int,text,text,text}`, rows); err != nil {
		return 0, err
	}
	return last, a.t.Exec(`DELETE FROM feed WHERE n <= ?`, int64(last)-feedKept)
}
