package sqlite

import (
	"context"
	"database/sql"

	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// tx is the current transaction. Only the writer's goroutine uses it. Its statements have no
// context, because interrupting one would undo the other calls of the transaction, too.
type tx struct {
	conn  *sql.Conn
	stmts map[statement]*sql.Stmt // prepared on the connection
	added int                     // number of added rows that retention will have to remove later
}

// statement identifies a prepared statement by its query, the number of rows that it takes values
// for, and the number of values in a row: see inRows.
type statement struct {
	query       string
	rows, width int
}

// prepare returns the prepared statement for a query. It keeps all of them: some hundreds at most.
func (t *tx) prepare(key statement) (*sql.Stmt, error) {
	if s := t.stmts[key]; s != nil {
		return s, nil
	}
	s, err := t.conn.PrepareContext(context.Background(), text(key.query, key.rows, key.width))
	if err != nil {
		return nil, err
	}
	t.stmts[key] = s
	return s, nil
}

// maxParams is the maximum number of parameters of a statement for several rows. For each parameter
// the driver searches a list of all of them. With more parameters that costs more than they save.
const maxParams = 64

// inRows runs a query for many rows of values. It passes several rows to a statement,
// because a statement costs about as much as a row. Above 8 rows it passes a multiple of 8: there
// are fewer statements to prepare, each of which costs as much as several runs.
func (t *tx) inRows(query string, values []any, run func(s *sql.Stmt, values []any) error) error {
	width := widthOf(query)
	for len(values) > 0 {
		n := min(len(values), maxParams) / width
		n = max(min(n, 8), n-n%8)
		s, err := t.prepare(statement{query, n, width})
		if err != nil {
			return wrap(err)
		}
		if err := run(s, values[:n*width]); err != nil {
			return err
		}
		values = values[n*width:]
	}
	return nil
}

// ExecRows implements sqlstore.Tx.
func (t *tx) ExecRows(query string, values []any) error {
	return t.inRows(query, values, func(s *sql.Stmt, values []any) error {
		_, err := s.ExecContext(context.Background(), values...)
		return wrap(err)
	})
}

// AskRows implements sqlstore.Tx.
func (t *tx) AskRows(query string, values []any, f func(sqlstore.Rows) error) error {
	return t.inRows(query, values, func(s *sql.Stmt, values []any) error {
		found, err := s.QueryContext(context.Background(), values...)
		if err != nil {
			return wrap(err)
		}
		return sqlstore.EachRow(rows{found}, f)
	})
}

// Ask implements sqlstore.Tx.
func (t *tx) Ask(query string, args []any, f func(sqlstore.Rows) error) error {
	found, err := t.Query(query, args...)
	if err != nil {
		return err
	}
	return sqlstore.EachRow(found, f)
}

// Exec implements sqlstore.Tx.
func (t *tx) Exec(query string, args ...any) error {
	_, err := t.Change(query, args...)
	return err
}

// Change implements sqlstore.Tx.
func (t *tx) Change(query string, args ...any) (int64, error) {
	s, err := t.prepare(statement{query: query})
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

// Query implements sqlstore.Querier.
func (t *tx) Query(query string, args ...any) (sqlstore.Rows, error) {
	s, err := t.prepare(statement{query: query})
	if err != nil {
		return nil, wrap(err)
	}
	found, err := s.QueryContext(context.Background(), args...)
	return rows{found}, wrap(err)
}

// Flush implements sqlstore.Tx. Nothing waits.
func (t *tx) Flush() error { return nil }

// Added implements sqlstore.Tx.
func (t *tx) Added(rows int) { t.added += rows }

// rows wraps the errors of a result.
type rows struct{ *sql.Rows }

func (r rows) Scan(into ...any) error { return wrap(r.Rows.Scan(into...)) }
func (r rows) Err() error             { return wrap(r.Rows.Err()) }
