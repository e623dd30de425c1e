package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// tx is the transaction under way, used by the writer's goroutine only. Its
// statements do not look at a context: cut short in the middle, one caller
// would take the others of the group with it.
type tx struct {
	w     *writer
	added int // events and entries recorded, which paces what is removed
}

// connect takes the connection if there is none.
func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(context.Background())
	if err != nil {
		return wrap(err)
	}
	w.conn, w.stmts = conn, make(map[string]*sql.Stmt)
	return nil
}

// disconnect drops the connection and its statements. The pool keeps none idle,
// so that the next one is new.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	for _, s := range w.stmts {
		s.Close()
	}
	w.conn.Close()
	w.conn, w.stmts = nil, nil
}

// prepare keeps each statement prepared: there are some dozens, all constant.
func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if s := t.w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.w.stmts[query] = s
	return s, nil
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.change(query, args...)
	return err
}

// change says how many rows were changed.
func (t *tx) change(query string, args ...any) (int64, error) {
	s, err := t.prepare(query)
	if err != nil {
		return 0, wrap(err)
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, wrap(err)
	}
	n, err := r.RowsAffected()
	return n, wrap(err)
}

// insert gives the new row's n.
func (t *tx) insert(query string, args ...any) (int64, error) {
	s, err := t.prepare(query)
	if err != nil {
		return 0, wrap(err)
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, wrap(err)
	}
	n, err := r.LastInsertId()
	return n, wrap(err)
}

func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	s, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// exists says whether the query has a row.
func (t *tx) exists(query string, args ...any) (bool, error) {
	return one(t, query, args)
}

// asker is what can be asked: a tx or a snapshot.
type asker interface {
	query(query string, args ...any) (*sql.Rows, error)
}

// one scans the only row of a query; false when there is none.
func one(a asker, query string, args []any, into ...any) (found bool, err error) {
	err = each(a, query, args, func(rows *sql.Rows) error {
		found = true
		if len(into) == 0 {
			return nil
		}
		return wrap(rows.Scan(into...))
	})
	return found, err
}

// each calls f for every row of a query.
func each(a asker, query string, args []any, f func(*sql.Rows) error) error {
	rows, err := a.query(query, args...)
	if err != nil {
		return wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return wrap(rows.Err())
}

// wrap says whose error it is.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlite: %w", err)
}
