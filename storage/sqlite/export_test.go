package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// SchemaVersion is the version of the schema that this package makes.
const SchemaVersion = schemaVersion

// EraseSome is a step of Erase.
func (s *Store) EraseSome(ctx context.Context, owner string) (more bool, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		_, more, err = s.roles.EraseSome(t, owner)
		return err
	})
	return more, err
}

// SetSynchronous sets when files opened from now on are synced, "FULL" or "OFF",
// and returns what undoes it. Tests that call it do not run in parallel.
func SetSynchronous(mode string) (undo func()) {
	was := synchronous
	synchronous = mode
	return func() { synchronous = was }
}

// Block keeps the writer busy with a transaction, from when it closes begun
// until end is closed.
func (s *Store) Block(ctx context.Context, begun chan<- struct{}, end <-chan struct{}) error {
	return s.write(ctx, func(*tx) error {
		close(begun)
		<-end
		return nil
	})
}

// Queued is how many writes wait for the next transaction.
func (s *Store) Queued() int { return len(s.w.queue) }

// Stopped says whether the writer takes no more jobs.
func (s *Store) Stopped() bool { return s.w.ctx.Err() != nil }

// Ask gives the first column of a query's last row, on the connection that writes.
func (s *Store) Ask(ctx context.Context, query string) (answer string, err error) {
	err = s.write(ctx, func(t *tx) error {
		return t.Ask(query, nil, func(rows sqlstore.Rows) error { return rows.Scan(&answer) })
	})
	return answer, err
}

// AskReader is Ask on a connection that reads.
func (s *Store) AskReader(ctx context.Context, query string) (answer string, err error) {
	err = backend{s}.Read(ctx, func(q sqlstore.Querier) error {
		found, err := q.Query(query)
		if err != nil {
			return err
		}
		return sqlstore.EachRow(found, func(rows sqlstore.Rows) error { return rows.Scan(&answer) })
	})
	return answer, err
}

// Search keeps a snapshot, on a connection for long queries, from when it closes
// begun until end is closed.
func (s *Store) Search(ctx context.Context, begun chan<- struct{}, end <-chan struct{}) error {
	return backend{s}.Search(ctx, func(q sqlstore.Querier) error {
		found, err := q.Query("SELECT count(*) FROM records")
		if err != nil {
			return err
		}
		err = sqlstore.EachRow(found, func(sqlstore.Rows) error { return nil })
		close(begun)
		<-end
		return err
	})
}

// SearchForEver closes begun and makes a query that has no end.
func (s *Store) SearchForEver(ctx context.Context, begun chan<- struct{}) error {
	return backend{s}.Search(ctx, func(q sqlstore.Querier) error {
		close(begun)
		found, err := q.Query("WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
		if err != nil {
			return err
		}
		return sqlstore.EachRow(found, func(sqlstore.Rows) error { return nil })
	})
}

// Panic panics in the writer's goroutine.
func (s *Store) Panic(ctx context.Context) error {
	return s.write(ctx, func(*tx) error { panic("out of order") })
}

// FailHalfWay runs a statement for four rows that fails at the third.
func (s *Store) FailHalfWay(ctx context.Context) error {
	const never = int64(math.MaxInt64) // retention removes no such row
	return s.write(ctx, func(t *tx) error {
		return t.ExecRows(`{insert} settled (event, settled_at) {rows int,int}`, []any{71, never, 72, never, 71, never, 73, never})
	})
}

// onWriter reads on the connection that writes.
type onWriter struct{ backend }

func (w onWriter) Read(ctx context.Context, do func(sqlstore.Querier) error) error {
	return w.write(ctx, func(t *tx) error { return do(t) })
}

func (w onWriter) Search(ctx context.Context, do func(sqlstore.Querier) error) error {
	return w.Read(ctx, do)
}

// OnWriter are ports that read on the connection of Plans.
func (s *Store) OnWriter() storage.Ports {
	roles := *s.roles
	roles.Backend = onWriter{backend{s}}
	return roles.Ports()
}

// ReadOnWriter reads records as List, Scan, Get and Find do, on the connection of Plans.
func (s *Store) ReadOnWriter(ctx context.Context, q record.Query) error {
	records := s.OnWriter().Records
	_, _, err := records.List(ctx, q)
	scanErr := records.Scan(ctx, q.Kind, func(record.Record) error { return nil })
	_, getErr := records.Get(ctx, q.Owner, record.Key{Kind: q.Kind})
	_, findErr := records.Find(ctx, q.Kind, "")
	for _, err := range []error{getErr, findErr} {
		if !errors.Is(err, record.ErrNotFound) {
			return err
		}
	}
	return errors.Join(err, scanErr)
}

// Plans is how SQLite carries out the statements that the writer has run so far, by their
// text.
func (s *Store) Plans(ctx context.Context) (plans map[string]string, err error) {
	plans = make(map[string]string)
	err = s.write(ctx, func(t *tx) error {
		var queries []string
		for st := range t.stmts {
			if !strings.Contains(st.query, "PRAGMA") {
				queries = append(queries, text(st.query, st.rows, st.width))
			}
		}
		for _, query := range queries {
			rows, err := t.conn.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, make([]any, params(query))...)
			if err == nil {
				err = sqlstore.EachRow(rows, func(rows sqlstore.Rows) error {
					var detail string
					err := rows.Scan(new(int), new(int), new(int), &detail)
					plans[query] += detail + "\n"
					return err
				})
			}
			if err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	})
	return plans, err
}

// params is the number of parameters of a query: ? each once, or ?1 to ?9.
func params(query string) (n int) {
	for i := range query {
		if query[i] != '?' {
			continue
		}
		if i+1 < len(query) && query[i+1] >= '1' && query[i+1] <= '9' {
			n = max(n, int(query[i+1]-'0'))
		} else {
			n++
		}
	}
	return n
}

// DoTwice makes what the roles do in a transaction run twice from now on, as it does in a store that
// repeats it after a conflict or when a connection broke.
func (s *Store) DoTwice() { s.roles.Backend = twice{s.roles.Backend} }

type twice struct{ sqlstore.Backend }

func (b twice) Read(ctx context.Context, do func(sqlstore.Querier) error) error {
	return b.Backend.Read(ctx, repeated(do))
}

func (b twice) Search(ctx context.Context, do func(sqlstore.Querier) error) error {
	return b.Backend.Search(ctx, repeated(do))
}

func repeated(do func(sqlstore.Querier) error) func(sqlstore.Querier) error {
	return func(q sqlstore.Querier) error {
		_ = do(q)
		return do(q)
	}
}

func (b twice) Write(ctx context.Context, do func(sqlstore.Tx) error) error {
	_ = b.Backend.Write(ctx, func(t sqlstore.Tx) error { return errors.Join(do(t), errors.New("rolled back")) })
	return b.Backend.Write(ctx, do)
}
