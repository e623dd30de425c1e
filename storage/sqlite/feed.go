package sqlite

import (
	"context"
	"database/sql"

	"github.com/streamwatch/streamwatch/fleet"
)

// keptChanges is how many changes are kept at least, and keptMore how many more at
// most: so many are removed at once.
const (
	keptChanges = 10_000
	keptMore    = 1_000
)

// Feed numbers the changes of records. The last 10,000 are kept.
func (s *Store) Feed() fleet.Feed { return feed{s} }

// feed implements fleet.Feed.
type feed struct{ s *Store }

// changed notes that the transaction has changed a record.
func (t *tx) changed(kind fleet.Kind, owner, id string) error {
	n, err := lastChange(t)
	if err != nil {
		return err
	}
	n++
	if err := t.exec(`INSERT INTO changes (n, kind, owner, id) VALUES (?, ?, ?, ?)`, n, string(kind), owner, id); err != nil {
		return err
	}
	if n%keptMore != 0 {
		return nil
	}
	return t.exec(`DELETE FROM changes WHERE n <= ?`, n-keptChanges)
}

func lastChange(a querier) (n int64, err error) {
	_, err = one(a, `SELECT coalesce(max(n), 0) FROM changes`, nil, &n)
	return n, err
}

func (f feed) Since(ctx context.Context, after uint64, limit int) (changes []fleet.Change, err error) {
	err = f.s.read(ctx, func(r *snapshot) error {
		var first, last uint64
		if _, err := one(r, `SELECT coalesce(min(n), 1), coalesce(max(n), 0) FROM changes`, nil, &first, &last); err != nil {
			return err
		}
		if after > last || after < first-1 {
			return fleet.ErrTooOld
		}
		return each(r, `SELECT n, kind, owner, id FROM changes WHERE n > ? ORDER BY n LIMIT ?`, []any{int64(after), max(limit, 0)}, func(rows *sql.Rows) error {
			var c fleet.Change
			err := rows.Scan(&c.N, &c.Kind, &c.Owner, &c.ID)
			changes = append(changes, c)
			return wrap(err)
		})
	})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

func (f feed) Last(ctx context.Context) (uint64, error) {
	var last int64
	err := f.s.read(ctx, func(r *snapshot) (err error) {
		last, err = lastChange(r)
		return err
	})
	return uint64(last), err
}
