package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/internal/calls"
	"github.com/streamwatch/streamwatch/storage/internal/serverclock"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

var _ storage.Store = (*Store)(nil)

// Store is a storage.Store on PostgreSQL. It is safe for concurrent use.
type Store struct {
	opts   Options
	clock  *serverclock.Clock // of the server; nil with Options.Now
	roles  *sqlstore.Store
	writes *pgxpool.Pool
	reads  *pgxpool.Pool
	// searches has connections for slow queries: otherwise short reads would wait for them.
	searches *pgxpool.Pool
	config   *pgxpool.Config
	listens  bool   // whether connections hear notifications
	local    string // statement that sets up a transaction; "" where connections are set up
	sender   *sender
	removal  removal

	calls *calls.Gate

	unfinished bool // the tables have an unfinished copy, opened to go on with that
}

// Ports returns the store's ports.
func (s *Store) Ports() storage.Ports {
	ports := s.roles.Ports()
	ports.Now, ports.Members, ports.Signals = s.roles.Now, members{s}, signals{s}
	return ports
}

// Close waits for the calls in progress and closes the connections. Every later call returns
// ErrClosed, including a second Close. If ctx ends first, the calls in progress return ErrClosed;
// what they write may be stored. Close then returns ctx.Err().
func (s *Store) Close(ctx context.Context) error {
	return s.calls.Close(ctx, func() error { return nil }, s.disconnect)
}

func (s *Store) disconnect() error {
	if s.sender != nil {
		s.sender.stop()
	}
	for _, pool := range []*pgxpool.Pool{s.searches, s.reads, s.writes} {
		if pool != nil {
			pool.Close()
		}
	}
	return nil
}

// during makes a call that ends when Close cuts the calls in progress.
func (s *Store) during(ctx context.Context, call func(context.Context) error) error {
	err := s.calls.Do(ctx, call)
	if errors.Is(err, sqlstore.ErrMissing) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// backend runs the transactions of the roles.
type backend struct{ *Store }

// Begin statements.
const (
	beginWrite    = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

// Times.
const (
	rollbackTimeout = time.Second
	shortestPause   = time.Millisecond // between attempts of a transaction
	longestPause    = 100 * time.Millisecond
	attempts        = 20
)

// Write implements sqlstore.Backend. What conflicted with another transaction, and what could not be
// sent, is tried again.
func (b backend) Write(ctx context.Context, do func(sqlstore.Tx) error) error {
	added, makesOwners := 0, false
	write := func(ctx context.Context) error {
		return b.again(ctx, func() (bool, error) {
			t, err := b.once(ctx, b.writes, beginWrite, func(t *tx) error {
				t.makesOwners = makesOwners
				return do(t)
			})
			if t == nil {
				return false, err
			}
			added, makesOwners = t.added, makesOwners || errors.Is(err, errNoOwner)
			return !t.ending, err
		})
	}
	err := b.during(ctx, write)
	if errors.Is(err, errLeft) {
		if err = b.endLeft(ctx); err == nil {
			err = b.during(ctx, write)
		}
	}
	if err == nil && added > 0 {
		b.remove(ctx, added)
	}
	return err
}

// again runs attempts of a transaction until one succeeds, or its error is none that another
// attempt mends. An attempt reports whether nothing can have been committed.
func (s *Store) again(ctx context.Context, attempt func() (undone bool, err error)) error {
	pause, cuts := shortestPause, 0
	for n := 1; ; n++ {
		undone, err := attempt()
		switch {
		case err == nil || ctx.Err() != nil || n == attempts:
			return err
		case errors.Is(err, errNoOwner):
			continue
		case hasCode(err, serialization, deadlock, uniqueViolation):
		case undone && isCut(err) && cuts < 2:
			cuts++ // the other connections of the pool may be broken, too
			s.writes.Reset()
			s.reads.Reset()
		default:
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
			return err
		}
	}
}

// once runs do in a transaction on a connection of a pool, and commits it. t is nil if there is no
// connection.
func (s *Store) once(ctx context.Context, pool *pgxpool.Pool, begin string, do func(*tx) error) (t *tx, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	defer conn.Release()
	t = &tx{ctx: ctx, conn: conn.Conn()}
	t.queue(begin, nil, done)
	if s.local != "" {
		t.queue(s.local, nil, done)
	}
	if err := do(t); err != nil {
		t.rollback()
		return t, err
	}
	crashpoint.Hit("postgres.tx.asked")
	if err := t.commit(); err != nil {
		if hasCode(err, readOnly) { // the server is a standby now
			_ = conn.Conn().Close(ctx)
		}
		t.rollback()
		return t, err
	}
	crashpoint.Hit("postgres.tx.committed")
	return t, nil
}

// Read implements sqlstore.Backend.
func (b backend) Read(ctx context.Context, do func(sqlstore.Querier) error) error {
	if b.local != "" {
		return b.snapshot(ctx, b.reads, do)
	}
	return b.during(ctx, func(ctx context.Context) error {
		return b.again(ctx, func() (bool, error) {
			conn, err := b.reads.Acquire(ctx)
			if err != nil {
				return true, wrap(err)
			}
			defer conn.Release()
			return true, do(single{ctx, conn.Conn()})
		})
	})
}

// single makes queries outside of a transaction.
type single struct {
	ctx  context.Context
	conn *pgx.Conn
}

// Query implements sqlstore.Querier.
func (q single) Query(query string, args ...any) (sqlstore.Rows, error) {
	found, err := q.conn.Query(q.ctx, prepared(query).sql, arguments(args)...)
	if err != nil {
		return nil, wrap(err)
	}
	return rows{found, nil}, nil
}

// Search implements sqlstore.Backend.
func (b backend) Search(ctx context.Context, do func(sqlstore.Querier) error) error {
	return b.snapshot(ctx, b.searches, do)
}

func (b backend) snapshot(ctx context.Context, pool *pgxpool.Pool, do func(sqlstore.Querier) error) error {
	return b.during(ctx, func(ctx context.Context) error {
		return b.again(ctx, func() (bool, error) {
			_, err := b.once(ctx, pool, beginSnapshot, func(t *tx) error { return do(t) })
			return true, err
		})
	})
}

// Duplicate implements sqlstore.Backend.
func (b backend) Duplicate(err error) bool { return hasCode(err, uniqueViolation) }

// now returns the time of Options.Now. Without that, ok is false: the server's clock counts.
func (s *Store) now() (own time.Time, ok bool) {
	if s.clock != nil {
		return time.Time{}, false
	}
	return s.opts.Now(), true
}

// dial opens a connection outside of the pools.
func (s *Store) dial(ctx context.Context) (*pgx.Conn, error) {
	config := s.config.ConnConfig.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if s.config.BeforeConnect != nil {
		if err := s.config.BeforeConnect(ctx, config); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config)
}

// transact runs do in a transaction, for what is not of package sqlstore.
func (s *Store) transact(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return s.during(ctx, func(ctx context.Context) error {
		return s.again(ctx, func() (bool, error) {
			err := pgx.BeginFunc(ctx, s.writes, func(tx pgx.Tx) error {
				if s.local != "" {
					if _, err := tx.Exec(ctx, s.local); err != nil {
						return err
					}
				}
				return do(ctx, tx)
			})
			return false, wrap(err)
		})
	})
}

// wrap adds the package's name to an error of the driver.
func wrap(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "postgres: ") {
		return err
	}
	return fmt.Errorf("postgres: %w", err)
}
