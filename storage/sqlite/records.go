package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// records is what monitors and rules have in common: records with a version,
// changed by compare-and-set. Its methods are those of both ports but List.
//
// A record is stored whole, as JSON with the names of its Go fields, so that a
// new field needs no new schema. What is asked for has columns of its own; of
// the version the column is the truth.
type records[T any] struct {
	s       *Store
	table   string
	unique  string // the column that is unique per owner
	keys    func(*T) (owner, id, unique, status string)
	version func(*T) *int64

	notFound, duplicate, conflict error
}

// sql fills in the table and its unique column.
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
			return rs.duplicate
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
			return rs.duplicate
		}
		return err
	})
}

func (rs records[T]) Delete(ctx context.Context, owner, id string) error {
	return rs.s.write(ctx, func(t *tx) error {
		n, err := t.change(rs.sql(`DELETE FROM {table} WHERE id = ? AND owner = ?`), id, owner)
		if err == nil && n == 0 {
			return rs.notFound
		}
		return err
	})
}

// Scan goes through the records as they were when it began, oldest first, and
// stops when the context ends. It holds up no writer; until it ends, the log
// beside the file grows with what is written.
func (rs records[T]) Scan(ctx context.Context, fn func(T) error) error {
	return rs.s.read(ctx, func(r *snapshot) error {
		return each(r, rs.sql(`SELECT record, version FROM {table} ORDER BY n`), nil, func(rows *sql.Rows) error {
			if err := errors.Join(r.ctx.Err(), rs.s.cut.Err()); err != nil {
				return err // read says which it was
			}
			var rec T
			if err := rows.Scan(rs.into(&rec)...); err != nil {
				return wrap(err)
			}
			return fn(rec)
		})
	})
}

// list gives one page of the owner's records with a status, "" for all, and how
// many there are.
func (rs records[T]) list(ctx context.Context, owner, status string, page, size int) (recs []T, total int, err error) {
	limit, offset := pageBounds(page, size)
	recs = []T{}
	err = rs.s.read(ctx, func(r *snapshot) error {
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

// into scans the columns record and version.
func (rs records[T]) into(rec *T) []any { return []any{jsonColumn{rec}, rs.version(rec)} }

// jsonColumn scans JSON text into what to points to; NULL leaves it alone.
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

// listJSON is a list as jsonColumn reads it: NULL when it is empty.
func listJSON[T any](list []T) (any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	doc, err := json.Marshal(list)
	return string(doc), wrap(err)
}
