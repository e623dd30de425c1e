package sqlstore

// Querier makes queries on the committed state, or on that of a transaction.
type Querier interface {
	Query(query string, args ...any) (Rows, error)
}

// Rows are the rows of a result: see sql.Rows.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close() error
}

// Tx is a transaction. A backend may send its statements together: those of Exec, ExecRows, Ask and
// AskRows not later than with the next Query, Change or Flush, or with COMMIT. It keeps their order.
// An error of such a statement is returned then. After an error the transaction is lost, and the
// caller returns the error.
type Tx interface {
	Querier
	Exec(query string, args ...any) error
	// Change is Exec at once, and returns how many rows it has changed.
	Change(query string, args ...any) (int64, error)
	// Ask calls f for each row of a query, not later than in Flush.
	Ask(query string, args []any, f func(Rows) error) error
	// ExecRows and AskRows pass rows of values to a query with {rows}. They may run the
	// query several times, with some of the rows each time, and not at all without rows.
	ExecRows(query string, values []any) error
	AskRows(query string, values []any, f func(Rows) error) error
	Flush() error
	// Added counts rows that retention has to remove later.
	Added(rows int)
}

// lock makes a statement of Dialect that locks rows.
func lock(t Tx, query string, args ...any) error {
	if query == "" {
		return nil
	}
	return t.Exec(query, args...)
}

// One scans the only row of a query. found is false if there is none.
func One(q Querier, query string, args []any, into ...any) (found bool, err error) {
	err = each(q, query, args, func(rows Rows) error {
		found = true
		if len(into) == 0 {
			return nil
		}
		return rows.Scan(into...)
	})
	return found, err
}

// all reads every row of a query with scan.
func all[T any](q Querier, query string, args []any, scan func(Rows, *T) error) (list []T, err error) {
	err = each(q, query, args, func(rows Rows) error {
		var row T
		err := scan(rows, &row)
		list = append(list, row)
		return err
	})
	return list, err
}

// column returns the first column of a query's rows.
func column[T any](q Querier, query string, args ...any) ([]T, error) {
	return all(q, query, args, func(rows Rows, value *T) error { return rows.Scan(value) })
}

// each calls f for every row of a query.
func each(q Querier, query string, args []any, f func(Rows) error) error {
	rows, err := q.Query(query, args...)
	if err != nil {
		return err
	}
	return EachRow(rows, f)
}

// EachRow calls f for every row of a result and closes it.
func EachRow(rows Rows, f func(Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
