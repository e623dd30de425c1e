package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// tx is a transaction. Its statements wait in a batch until an answer is needed: a transaction that
// reads, decides and writes makes two round trips.
type tx struct {
	ctx     context.Context
	conn    *pgx.Conn
	batch   pgx.Batch
	answers []func(pgx.BatchResults) error // of the batch
	begun   bool                           // the server knows of the transaction
	ending  bool                           // COMMIT was sent
	added   int
	// makesOwners says that LockOwners has to make rows that are missing.
	makesOwners bool
}

// queue adds a statement whose answer f reads.
func (t *tx) queue(sql string, args []any, f func(pgx.BatchResults) error) {
	t.batch.Queue(sql, args...)
	t.answers = append(t.answers, f)
}

// done reads the answer of a statement that returns no rows, or whose rows do not matter.
func done(r pgx.BatchResults) error {
	_, err := r.Exec()
	return wrap(err)
}

// send sends the batch and reads its answers but the last, if that is wanted by the caller.
func (t *tx) send(keepLast bool) (pgx.BatchResults, error) {
	batch, answers := t.batch, t.answers
	t.batch, t.answers = pgx.Batch{}, nil
	t.begun = true
	results := t.conn.SendBatch(t.ctx, &batch)
	if t.ending {
		crashpoint.Hit("postgres.tx.sent")
	}
	if keepLast {
		answers = answers[:len(answers)-1]
	}
	for _, answer := range answers {
		if err := answer(results); err != nil {
			_ = results.Close() // what else the server says follows from err
			return nil, err
		}
	}
	return results, nil
}

// Flush implements sqlstore.Tx.
func (t *tx) Flush() error {
	if len(t.answers) == 0 {
		return nil
	}
	results, err := t.send(false)
	if err != nil {
		return err
	}
	if err := results.Close(); err != nil {
		return wrap(err)
	}
	if !t.ending {
		crashpoint.Hit("postgres.tx.answered")
	}
	return nil
}

// Exec implements sqlstore.Tx.
func (t *tx) Exec(query string, args ...any) error {
	t.queue(prepared(query).sql, arguments(args), done)
	return nil
}

// Change implements sqlstore.Tx.
func (t *tx) Change(query string, args ...any) (changed int64, err error) {
	t.queue(prepared(query).sql, arguments(args), func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		changed = tag.RowsAffected()
		return wrap(err)
	})
	err = t.Flush()
	return changed, err
}

// Query implements sqlstore.Querier.
func (t *tx) Query(query string, args ...any) (sqlstore.Rows, error) {
	t.queue(prepared(query).sql, arguments(args), nil)
	results, err := t.send(true)
	if err != nil {
		return nil, err
	}
	found, err := results.Query()
	if err != nil {
		_ = results.Close()
		return nil, wrap(err)
	}
	return rows{found, results}, nil
}

// Ask implements sqlstore.Tx.
func (t *tx) Ask(query string, args []any, f func(sqlstore.Rows) error) error {
	t.ask(prepared(query).sql, arguments(args), f)
	return nil
}

func (t *tx) ask(sql string, args []any, f func(sqlstore.Rows) error) {
	t.queue(sql, args, func(r pgx.BatchResults) error {
		found, err := r.Query()
		if err != nil {
			return wrap(err)
		}
		return sqlstore.EachRow(rows{found, nil}, f)
	})
}

// ExecRows implements sqlstore.Tx.
func (t *tx) ExecRows(query string, values []any) error {
	return t.inRows(query, values, func(sql string, args []any) { t.queue(sql, args, done) })
}

// AskRows implements sqlstore.Tx.
func (t *tx) AskRows(query string, values []any, f func(sqlstore.Rows) error) error {
	return t.inRows(query, values, func(sql string, args []any) { t.ask(sql, args, f) })
}

func (t *tx) inRows(query string, values []any, do func(sql string, args []any)) error {
	if len(values) == 0 {
		return nil
	}
	st := prepared(query)
	args, err := columns(st.types, values)
	if err != nil {
		return err
	}
	do(st.sql, args)
	return nil
}

// Added implements sqlstore.Tx.
func (t *tx) Added(rows int) { t.added += rows }

// commit sends what waits, and COMMIT. Without a statement there is nothing to commit.
func (t *tx) commit() error {
	if !t.begun && len(t.answers) <= 1 { // BEGIN
		return nil
	}
	t.queue("COMMIT", nil, done)
	t.ending = true
	return t.Flush()
}

// rollback ends a transaction that the server knows of.
func (t *tx) rollback() {
	if !t.begun || t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), rollbackTimeout)
	defer cancel()
	_, _ = t.conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll() // after an error the connection is closed
}

// rows are the rows of a result, alone or the last of a batch.
type rows struct {
	pgx.Rows
	batch pgx.BatchResults // nil if others read it
}

// Scan implements sqlstore.Rows.
func (r rows) Scan(into ...any) error {
	err := r.Rows.Scan(into...)
	if err == nil {
		unescapeAll(into)
	}
	return wrap(err)
}

// Err implements sqlstore.Rows.
func (r rows) Err() error { return wrap(r.Rows.Err()) }

// Close implements sqlstore.Rows.
func (r rows) Close() error {
	r.Rows.Close()
	if r.batch == nil {
		return nil
	}
	return wrap(r.batch.Close())
}

// hasCode reports whether an error is PostgreSQL's and has one of these codes.
func hasCode(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// isCut reports whether a connection broke that had been made.
func isCut(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect):
		return false
	case hasCode(err, adminShutdown, crashShutdown, readOnly):
		return true
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// Codes of errors: https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	uniqueViolation = "23505"
	serialization   = "40001"
	deadlock        = "40P01"
	readOnly        = "25006"
	adminShutdown   = "57P01"
	crashShutdown   = "57P02"
)
