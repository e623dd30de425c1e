package sqlstore

import (
	"context"

	"github.com/streamwatch/streamwatch/record"
)

// recordStore implements record.Store. Apply is in record_apply.go.
type recordStore struct{ *Store }

// recordColumns are the columns of a record and its number.
const recordColumns = `n, kind, id, owner, parent_kind, parent, coalesce(name, ''), coalesce(lookup, ''),
	status, size, price, version, created_at, updated_at, note, data`

// recordFields returns the destinations for these columns.
func recordFields(n *int64, r *record.Record) []any {
	return []any{n, &r.Kind, &r.ID, &r.Owner, &r.Parent.Kind, &r.Parent.ID, &r.Name, &r.Lookup,
		&r.Status, &r.Size, &r.Price, &r.Version, timeColumn{&r.CreatedAt}, timeColumn{&r.UpdatedAt}, &r.Note, &r.Data}
}

// Conditions that at most one record meets.
const (
	byKey    = `kind = ? AND id = ? AND owner = ?`
	byLookup = `kind = ? AND lookup = ?`
)

func (rs recordStore) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	return rs.where(ctx, byKey, string(k.Kind), k.ID, owner)
}

func (rs recordStore) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	return rs.where(ctx, byLookup, string(k), lookup)
}

// where returns the only record that meets a condition.
func (rs recordStore) where(ctx context.Context, condition string, args ...any) (found record.Record, err error) {
	err = rs.Read(ctx, func(q Querier) error {
		found, err = recordWhere(q, condition, args...)
		return err
	})
	return found, err
}

func recordWhere(q Querier, condition string, args ...any) (found record.Record, err error) {
	there, err := One(q, `SELECT `+recordColumns+` FROM records WHERE `+condition, args, recordFields(new(int64), &found)...)
	if err == nil && !there {
		err = record.ErrNotFound
	}
	return found, err
}

func (rs recordStore) List(ctx context.Context, q record.Query) (list []record.Record, total int, err error) {
	err = rs.Search(ctx, func(from Querier) error {
		list, total, err = listRecords(from, &q)
		return err
	})
	return list, total, err
}

func listRecords(from Querier, q *record.Query) (list []record.Record, total int, err error) {
	sum, err := sumRecords(from, record.Count, q)
	if err != nil || q.Limit <= 0 {
		return nil, int(sum), err
	}
	where, args := matching(q)
	order := ` ORDER BY n`
	if !q.Parent.IsZero() {
		order = ` ORDER BY +n` // to sort the few children is faster than to read all records of the owner in order
	}
	list, err = all(from, `SELECT `+recordColumns+` FROM records`+where+order+` LIMIT ? OFFSET ?`, append(args, q.Limit, max(q.Offset, 0)),
		func(rows Rows, r *record.Record) error { return rows.Scan(recordFields(new(int64), r)...) })
	return list, int(sum), err
}

// ofParent is the SQL condition that a record has a parent. The literal term lets SQLite use the
// index records_of_parent.
const ofParent = `parent_kind = ? AND parent = ? AND parent <> ''`

// matching returns the SQL condition for the records of a query, and its arguments.
func matching(q *record.Query) (where string, args []any) {
	where, args = ` WHERE owner = ? AND kind = ?`, []any{q.Owner, string(q.Kind)}
	if q.Status != "" {
		where, args = where+` AND status = ?`, append(args, q.Status)
	}
	if !q.Parent.IsZero() {
		where, args = where+` AND `+ofParent, append(args, string(q.Parent.Kind), q.Parent.ID)
	}
	if q.Name != "" {
		where, args = where+` AND name = ? AND parent_kind = ? AND parent = ?`, append(args, q.Name, string(q.Parent.Kind), q.Parent.ID)
	}
	return where, args
}

// sumRecords adds up a measure of the records of a query. It reads only the children of a parent,
// which are few, or the record of a name; other sums are in a table.
func sumRecords(from Querier, of record.Measure, q *record.Query) (sum int64, err error) {
	column, table := []string{"count", "size", "price"}[of], `record_sums`
	if !q.Parent.IsZero() || q.Name != "" {
		column, table = []string{"1", "size", "price"}[of], `records`
	}
	where, args := matching(q)
	_, err = One(from, `SELECT CAST(coalesce(sum(`+column+`), 0) AS BIGINT) FROM `+table+where, args, &sum)
	return sum, err
}

// scanStep is how many records Scan reads at a time.
const scanStep = 100

// Scan uses no connection while fn runs.
func (rs recordStore) Scan(ctx context.Context, k record.Kind, fn func(record.Record) error) error {
	for after, more := int64(0), true; more; {
		var list []record.Record
		from := after
		err := rs.Search(ctx, func(q Querier) (err error) {
			list, after, err = scanRecords(q, k, from)
			return err
		})
		if err != nil {
			return err
		}
		for i := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := fn(list[i]); err != nil {
				return err
			}
		}
		more = len(list) == scanStep
	}
	return nil
}

// scanRecords returns up to scanStep records with numbers above after, and the last one's number.
func scanRecords(q Querier, k record.Kind, after int64) (list []record.Record, last int64, err error) {
	// With the index of kinds and ids each step would sort all records of the kind: {+} rules that out.
	list, err = all(q, `SELECT `+recordColumns+` FROM records WHERE {+}kind = ? AND n > ? ORDER BY n LIMIT ?`, []any{string(k), after, scanStep},
		func(rows Rows, r *record.Record) error { return rows.Scan(recordFields(&last, r)...) })
	return list, last, err
}

func (rs recordStore) Since(ctx context.Context, after uint64, limit int) (list []record.Entry, last uint64, err error) {
	err = rs.Search(ctx, func(q Querier) error {
		var first uint64
		if _, err := One(q, `SELECT coalesce((SELECT min(n) FROM feed), 1), coalesce((SELECT max(n) FROM feed), 0)`, nil, &first, &last); err != nil {
			return err
		}
		if after > last || after+1 < first {
			return record.ErrTooOld
		}
		list, err = all(q, `SELECT n, kind, id, owner FROM feed WHERE n > ? ORDER BY n LIMIT ?`, []any{int64(after), max(limit, 0)},
			func(rows Rows, e *record.Entry) error { return rows.Scan(&e.N, &e.Kind, &e.ID, &e.Owner) })
		return err
	})
	return list, last, err
}
