package sqlite

import (
	"context"
	"database/sql"

	"github.com/streamwatch/streamwatch/record"
)

// recordStore implements record.Store. Apply is in record_apply.go.
type recordStore struct{ s *Store }

// Records returns the store of records. It stores Data as given, with the secrets in it.
func (s *Store) Records() record.Store { return recordStore{s} }

// recordColumns are the columns that scanRecord reads.
const recordColumns = `n, kind, id, owner, parent_kind, parent, coalesce(name, ''), coalesce(lookup, ''),
	status, size, price, version, created_at, updated_at, note, data`

func scanRecord(rows *sql.Rows) (n int64, r record.Record, err error) {
	err = rows.Scan(&n, &r.Kind, &r.ID, &r.Owner, &r.Parent.Kind, &r.Parent.ID, &r.Name, &r.Lookup,
		&r.Status, &r.Size, &r.Price, &r.Version, timeColumn{&r.CreatedAt}, timeColumn{&r.UpdatedAt}, &r.Note, &r.Data)
	return n, r, wrap(err)
}

func (rs recordStore) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	return rs.where(ctx, `kind = ? AND id = ? AND owner = ?`, string(k.Kind), k.ID, owner)
}

func (rs recordStore) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	return rs.where(ctx, `kind = ? AND lookup = ?`, string(k), lookup)
}

// where returns the only record that meets a condition.
func (rs recordStore) where(ctx context.Context, condition string, args ...any) (found record.Record, err error) {
	err = rs.s.read(ctx, func(r *snapshot) error {
		var n int64
		err := each(r, `SELECT `+recordColumns+` FROM records WHERE `+condition, args, func(rows *sql.Rows) (err error) {
			n, found, err = scanRecord(rows)
			return err
		})
		if err == nil && n == 0 {
			err = record.ErrNotFound
		}
		return err
	})
	return found, err
}

// ofParent is the SQL condition that a record has a parent. The literal term lets SQLite use the
// index records_of_parent.
const ofParent = `parent_kind = ? AND parent = ? AND parent <> ''`

func (rs recordStore) List(ctx context.Context, q record.Query) (list []record.Record, total int, err error) {
	where, args := `owner = ? AND kind = ?`, []any{q.Owner, string(q.Kind)}
	if q.Status != "" {
		where, args = where+` AND status = ?`, append(args, q.Status)
	}
	count, order := `SELECT coalesce(sum(count), 0) FROM record_sums WHERE `, ` ORDER BY n`
	if !q.Parent.IsZero() {
		where, args = where+` AND `+ofParent, append(args, string(q.Parent.Kind), q.Parent.ID)
		// To sort the few children is faster than to read all records of the owner in order.
		count, order = `SELECT count(*) FROM records WHERE `, ` ORDER BY +n`
	}
	err = rs.s.search(ctx, func(r *snapshot) error {
		if _, err := one(r, count+where, args, &total); err != nil || q.Limit <= 0 {
			return err
		}
		return each(r, `SELECT `+recordColumns+` FROM records WHERE `+where+order+` LIMIT ? OFFSET ?`,
			append(args, q.Limit, max(q.Offset, 0)), func(rows *sql.Rows) error {
				_, rec, err := scanRecord(rows)
				list = append(list, rec)
				return err
			})
	})
	if err != nil {
		return nil, 0, err
	}
	return list, total, nil
}

// recordStep is how many records Scan reads at a time.
const recordStep = 100

// Scan uses no connection while fn runs.
func (rs recordStore) Scan(ctx context.Context, k record.Kind, fn func(record.Record) error) error {
	for after := int64(0); ; {
		var list []record.Record
		err := rs.s.search(ctx, func(r *snapshot) error {
			// With the index of kinds and ids each step would sort all records of the kind: + rules that out.
			return each(r, `SELECT `+recordColumns+` FROM records WHERE +kind = ? AND n > ? ORDER BY n LIMIT ?`,
				[]any{string(k), after, recordStep}, func(rows *sql.Rows) (err error) {
					var rec record.Record
					after, rec, err = scanRecord(rows)
					list = append(list, rec)
					return err
				})
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
		if len(list) < recordStep {
			return nil
		}
	}
}

func (rs recordStore) Since(ctx context.Context, after uint64, limit int) (list []record.Entry, last uint64, err error) {
	err = rs.s.read(ctx, func(r *snapshot) error {
		var first uint64
		if _, err := one(r, `SELECT coalesce((SELECT min(n) FROM feed), 1), coalesce((SELECT max(n) FROM feed), 0)`, nil, &first, &last); err != nil {
			return err
		}
		if after > last || after+1 < first {
			return record.ErrTooOld
		}
		return each(r, `SELECT n, kind, id, owner FROM feed WHERE n > ? ORDER BY n LIMIT ?`, []any{int64(after), max(limit, 0)}, func(rows *sql.Rows) error {
			var e record.Entry
			err := rows.Scan(&e.N, &e.Kind, &e.ID, &e.Owner)
			list = append(list, e)
			return wrap(err)
		})
	})
	if err != nil {
		return nil, last, err
	}
	return list, last, nil
}
