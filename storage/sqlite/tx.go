package sqlite

import (
	"context"
	"database/sql"
	"strings"
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

func (st statement) text() string {
	if st.rows == 0 {
		return st.query
	}
	row := "(" + strings.Repeat("?, ", st.width-1) + "?)"
	return strings.Replace(st.query, rowValues, strings.Repeat(row+", ", st.rows-1)+row, 1)
}

// prepare returns the prepared statement for a query. It keeps all of them: some hundreds at most.
func (t *tx) prepare(key statement) (*sql.Stmt, error) {
	if s := t.stmts[key]; s != nil {
		return s, nil
	}
	s, err := t.conn.PrepareContext(context.Background(), key.text())
	if err != nil {
		return nil, err
	}
	t.stmts[key] = s
	return s, nil
}

// rowValues is the placeholder for the values of several rows in a query for inRows.
const rowValues = "{rows}"

// maxParams is the maximum number of parameters of a statement for several rows. For each parameter
// the driver searches a list of all of them. With more parameters that costs more than they save.
const maxParams = 64

// inRows runs a query for many rows of width values each. It passes several rows to a statement,
// because a statement costs about as much as a row. Above 8 rows it passes a multiple of 8: there
// are fewer statements to prepare, each of which costs as much as several runs.
func (t *tx) inRows(query string, width int, values []any, run func(s *sql.Stmt, values []any) error) error {
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

// execRows is exec for many rows. Queries that add or change rows use OR FAIL: SQLite then keeps no
// journal for undoing half of a statement, which would take an eighth of the writer's time. Instead
// the job's savepoint, or the transaction, undoes a failed statement.
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

// change runs a statement and returns how many rows it changed.
func (t *tx) change(query string, args ...any) (int64, error) {
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

func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	s, err := t.prepare(statement{query: query})
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// querier is implemented by tx and snapshot.
type querier interface {
	query(query string, args ...any) (*sql.Rows, error)
}

// one scans the only row of a query. found is false if there is none.
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

// all reads every row of a query with scan.
func all[T any](a querier, query string, args []any, scan func(*sql.Rows, *T) error) (list []T, err error) {
	err = each(a, query, args, func(rows *sql.Rows) error {
		var row T
		err := scan(rows, &row)
		list = append(list, row)
		return wrap(err)
	})
	return list, err
}

// column returns the first column of a query's rows.
func column[T any](a querier, query string, args ...any) ([]T, error) {
	return all(a, query, args, func(rows *sql.Rows, value *T) error { return rows.Scan(value) })
}

// each calls f for every row of a query.
func each(a querier, query string, args []any, f func(*sql.Rows) error) error {
	return scanAll(f)(a.query(query, args...))
}

// scanAll returns a function that calls f for every row of a result and closes it.
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
