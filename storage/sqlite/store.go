package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/internal/calls"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

var _ storage.Store = (*Store)(nil)

// Store is a storage.Store in a file. It is safe for concurrent use.
type Store struct {
	path     string
	opts     Options
	roles    *sqlstore.Store
	hold     *sql.DB // its connection holds the lock on the file; nil with Options.Admin
	w        *writer
	writes   *sql.DB // one connection
	reads    *sql.DB // a few connections, read-only
	searches *sql.DB // as many more, for slow queries
	calls    *calls.Gate

	unfinished bool // the file is an unfinished copy, opened to go on with that
}

// Ports returns the store's ports.
func (s *Store) Ports() storage.Ports { return s.roles.Ports() }

// Close waits for the calls in progress and closes the file. Every later call returns ErrClosed,
// including a second Close. If ctx ends first, reads and queued writes return ErrClosed. Close then
// finishes the current transaction and returns ctx.Err().
func (s *Store) Close(ctx context.Context) error {
	return s.calls.Close(ctx, func() error {
		s.w.stop()
		crashpoint.Hit("sqlite.close.stopped")
		return nil
	}, s.disconnect)
}

// disconnect closes the connections. Closing the writer's, which is the last one, copies the log
// into the file. After that disconnect releases the lock for another Store.
func (s *Store) disconnect() (err error) {
	for _, db := range []*sql.DB{s.searches, s.reads, s.writes, s.hold} {
		if db != nil {
			err = errors.Join(err, wrap(db.Close()))
		}
	}
	return err
}

// backend runs the transactions of the roles.
type backend struct{ *Store }

// Write runs do in a transaction: see writer.write.
func (s backend) Write(ctx context.Context, do func(sqlstore.Tx) error) error {
	return damaged(s.write(ctx, func(t *tx) error { return do(t) }))
}

// damaged adds ErrCorrupt to an error that means it.
func damaged(err error) error {
	if errors.Is(err, sqlstore.ErrMissing) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// Read runs do on a snapshot. It waits for no writer.
func (s backend) Read(ctx context.Context, do func(sqlstore.Querier) error) error {
	return damaged(s.show(ctx, s.reads, do))
}

// Search is like Read, for queries that may take long. They have their own connections: otherwise
// short reads would wait for them.
func (s backend) Search(ctx context.Context, do func(sqlstore.Querier) error) error {
	return damaged(s.show(ctx, s.searches, do))
}

func (s *Store) write(ctx context.Context, do func(*tx) error) error {
	if err := s.calls.Enter(); err != nil {
		return err
	}
	defer s.calls.Leave()
	return s.w.write(ctx, do)
}

// snapshot is the committed state at one moment, as a call that reads sees it.
type snapshot struct {
	ctx context.Context
	tx  *sql.Tx
}

// Query implements sqlstore.Querier.
func (r *snapshot) Query(query string, args ...any) (sqlstore.Rows, error) {
	found, err := r.tx.QueryContext(r.ctx, plain(query), args...)
	return rows{found}, wrap(err)
}

// show runs do on a snapshot from a pool.
func (s *Store) show(ctx context.Context, from *sql.DB, do func(sqlstore.Querier) error) error {
	return s.calls.Do(ctx, func(ctx context.Context) error { return look(ctx, from, do) })
}

func look(ctx context.Context, from *sql.DB, do func(sqlstore.Querier) error) error {
	tx, err := from.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return wrap(err)
	}
	defer tx.Rollback() // nothing to commit
	if err := do(&snapshot{ctx, tx}); err != nil {
		return err
	}
	return ctx.Err()
}
