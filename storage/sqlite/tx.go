package sqlite

import (
	"context"
	"database/sql"
	"strings"
)

// tx is the transaction under way, used by the writer's goroutine only. Its
// statements have no context: one that was cut short in the middle would take the
// other calls of the transaction with it.
type tx struct {
	conn  *sql.Conn
	stmts map[statement]*sql.Stmt // of the connection
	added int                     // rows that retention will have to remove one day
}

// statement is a query, and for how many rows it has values: see inRows.
type statement struct {
	query string
	rows  int
}

// prepare keeps each statement prepared: there are some dozens, all constant.
func (t *tx) prepare(query string) (*sql.Stmt, error) {
	return t.prepareRows(statement{query: query}, 0)
}

func (t *tx) prepareRows(key statement, width int) (*sql.Stmt, error) {
	if s := t.stmts[key]; s != nil {
		return s, nil
	}
	query := key.query
	if key.rows > 0 {
		row := "(" + strings.Repeat("?, ", width-1) + "?)"
		query = strings.Replace(query, rowValues, strings.Repeat(row+", ", key.rows-1)+row, 1)
	}
	s, err := t.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.stmts[key] = s
	return s, nil
}

// rowValues stands for the values of several rows in a query for inRows.
const rowValues = "{rows}"

// maxParams bounds the parameters of a statement for several rows. The driver
// searches a list of all for each of them, so that more would cost more than they
// save.
const maxParams = 64

// inRows runs a query for many rows, of width values each, with few statements: a
// statement costs about as much as a row. Rows go in powers of two, so that few
// statements are kept prepared.
func (t *tx) inRows(query string, width int, values []any, run func(s *sql.Stmt, values []any) error) error {
	n := 1
	for n*2*width <= maxParams {
		n *= 2
	}
	for ; len(values) > 0; n /= 2 {
		for len(values) >= n*width {
			s, err := t.prepareRows(statement{query, n}, width)
			if err != nil {
				return wrap(err)
			}
			if err := run(s, values[:n*width]); err != nil {
				return err
			}
			values = values[n*width:]
		}
	}
	return nil
}

// execRows is exec for many rows. Queries that add or change rows say OR FAIL: SQLite then
// keeps no journal to undo half of a statement, which takes an eighth of the writer's time.
// What a failed one did is undone with its job, by the savepoint or the transaction.
func (t *tx) execRows(query string, width int, values []any) error {
	return t.inRows(query, width, values, func(s *sql.Stmt, values []any) error {
		_, err := s.ExecContext(context.Background(), values...)
		return wrap(err)
	})
}

// eachRows is each for many rows.
func (t *tx) eachRows(query string, width int, values []any, f func(*sql.Rows) error) error {
	return t.inRows(query, width, values, func(s *sql.Stmt, values []any) error {
		return scanAll(f)(s.QueryContext(context.Background(), values...))
	})
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

func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	s, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// exists reports whether the query has a row.
func (t *tx) exists(query string, args ...any) (bool, error) {
	return one(t, query, args)
}

// querier is what can be queried: a tx or a snapshot.
type querier interface {
	query(query string, args ...any) (*sql.Rows, error)
}

// one scans the only row of a query; false when there is none.
func one(a querier, query string, args []any, into ...any) (found bool, err error) {
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
func each(a querier, query string, args []any, f func(*sql.Rows) error) error {
	return scanAll(f)(a.query(query, args...))
}

// scanAll gives a function that calls f for every row of an answer and closes it.
func scanAll(f func(*sql.Rows) error) func(*sql.Rows, error) error {
	return func(rows *sql.Rows, err error) error {
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
}
