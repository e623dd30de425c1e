package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/streamwatch/streamwatch/billing"
)

// records implements the methods that monitor.Store and rule.Store share, which are all but List.
//
// A record is stored as JSON with the names of its Go fields. A new field therefore needs no new
// schema. Fields that queries use also have columns. The current version is in the column, not in
// the JSON.
type records[T any] struct {
	s          *Store
	table      string
	unique     string // name of the column that is unique per owner
	keys       func(*T) (owner, id, unique, status string)
	version    func(*T) *int64
	ledgerKind billing.Kind // kind of the records' ledger entries

	notFound, duplicate, conflict error
}

// sql replaces the placeholders for the table and its unique column in a query.
func (rs records[T]) sql(query string) string {
	return strings.NewReplacer("{table}", rs.table, "{unique}", rs.unique).Replace(query)
}

func (rs records[T]) Create(ctx context.Context, rec T) error {
	owner, id, unique, status := rs.keys(&rec)
	doc, err := json.Marshal(rec)
	if err != nil {
		return wrap(err)
	}
	query := rs.sql(`INSERT INTO {table} (id, owner, {unique}, status, version, record) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`)
	return rs.s.write(ctx, func(t *tx) error {
		n, err := t.change(query, id, owner, unique, status, *rs.version(&rec), string(doc))
		if err == nil && n == 0 {
			err = rs.duplicate
		}
		return err
	})
}

func (rs records[T]) Get(ctx context.Context, owner, id string) (rec T, err error) {
	err = rs.s.read(ctx, func(r *snapshot) error {
		found, err := one(r, rs.sql(`SELECT record, version FROM {table} WHERE id = ? AND owner = ?`), []any{id, owner}, rs.into(&rec)...)
		if err == nil && !found {
			return rs.notFound
		}
		return err
	})
	return rec, err
}

func (rs records[T]) Update(ctx context.Context, rec T) error {
	owner, id, unique, status := rs.keys(&rec)
	doc, err := json.Marshal(rec)
	if err != nil {
		return wrap(err)
	}
	return rs.s.write(ctx, func(t *tx) error {
		var version int64
		found, err := one(t, rs.sql(`SELECT version FROM {table} WHERE id = ? AND owner = ?`), []any{id, owner}, &version)
		switch {
		case err != nil:
			return err
		case !found:
			return rs.notFound
		case version != *rs.version(&rec):
			return rs.conflict
		}
		n, err := t.change(rs.sql(`UPDATE OR IGNORE {table} SET {unique} = ?, status = ?, version = ?, record = ? WHERE id = ?`),
			unique, status, version+1, string(doc), id)
		if err == nil && n == 0 {
			err = rs.duplicate
		}
		return err
	})
}

func (rs records[T]) Delete(ctx context.Context, owner, id string) error {
	return rs.s.write(ctx, func(t *tx) error {
		n, err := t.change(rs.sql(`DELETE FROM {table} WHERE id = ? AND owner = ?`), id, owner)
		if err != nil {
			return err
		}
		if n == 0 {
			return rs.notFound
		}
		return t.exec(`DELETE FROM source_totals WHERE owner = ? AND kind = ? AND source_id = ?`, owner, string(rs.ledgerKind), id)
	})
}

// scanStep is how many records Scan reads at a time.
const scanStep = 100

// Scan calls fn for each record, oldest first, until the context ends.
func (rs records[T]) Scan(ctx context.Context, fn func(T) error) error {
	return scan(ctx, rs.s, rs.some, fn)
}

// scan calls fn for each record that some returns. It reads scanStep records at a time, and uses no
// connection while fn runs.
func scan[T any](ctx context.Context, s *Store, some func(ctx context.Context, after int64) ([]T, int64, error), fn func(T) error) error {
	if err := s.calling.enter(); err != nil {
		return err
	}
	defer s.calling.leave()
	for after := int64(math.MinInt64); ; {
		recs, last, err := some(ctx, after)
		if err != nil {
			return err
		}
		for i := range recs {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case s.cut.Err() != nil:
				return ErrClosed
			}
			if err := fn(recs[i]); err != nil {
				return err
			}
		}
		if len(recs) < scanStep {
			return nil
		}
		after = last
	}
}

// some reads up to scanStep records with numbers above after.
func (rs records[T]) some(ctx context.Context, after int64) (recs []T, last int64, err error) {
	err = rs.s.show(ctx, rs.s.searches, func(r *snapshot) error {
		query := rs.sql(`SELECT n, record, version FROM {table} WHERE n > ? ORDER BY n LIMIT ?`)
		return each(r, query, []any{after, scanStep}, func(rows *sql.Rows) error {
			var rec T
			err := rows.Scan(append([]any{&last}, rs.into(&rec)...)...)
			recs = append(recs, rec)
			return wrap(err)
		})
	})
	return recs, last, err
}

// list returns one page of the owner's records with a status ("" for any), and the number of such
// records.
func (rs records[T]) list(ctx context.Context, owner, status string, page, size int) (recs []T, total int, err error) {
	limit, offset := pageBounds(page, size)
	recs = []T{}
	err = rs.s.search(ctx, func(r *snapshot) error {
		args := []any{owner, status}
		if _, err := one(r, rs.sql(`SELECT count(*) FROM {table} WHERE owner = ?1 AND ?2 IN ('', status)`), args, &total); err != nil {
			return err
		}
		query := rs.sql(`SELECT record, version FROM {table} WHERE owner = ?1 AND ?2 IN ('', status) ORDER BY n LIMIT ?3 OFFSET ?4`)
		return each(r, query, append(args, limit, offset), func(rows *sql.Rows) error {
			var rec T
			if err := rows.Scan(rs.into(&rec)...); err != nil {
				return wrap(err)
			}
			recs = append(recs, rec)
			return nil
		})
	})
	return recs, total, err
}

// into returns the destinations for scanning the columns record and version.
func (rs records[T]) into(rec *T) []any { return []any{jsonColumn{rec}, rs.version(rec)} }

// jsonColumn is a destination for a column of JSON. It decodes the JSON into the value that to
// points to; NULL leaves that unchanged.
type jsonColumn struct{ to any }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), c.to)
	}
	return fmt.Errorf("sqlite: a document stored as %T: want text", v)
}

// listJSON encodes a list for jsonColumn or json_each. It returns NULL for an empty list.
func listJSON[T any](list []T) (any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	doc, err := json.Marshal(list)
	return string(doc), wrap(err)
}
