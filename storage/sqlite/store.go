package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"sync"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

var (
	_ storage.Store = (*Store)(nil)
	_ storage.Keyed = (*Store)(nil)
)

// Store is a storage.Store in a file. It is safe for concurrent use.
type Store struct {
	path     string
	file     *file
	opts     Options
	hold     *sql.DB // its connection has the lock on the file; nil with Options.Admin
	w        *writer
	writes   *sql.DB // one connection
	reads    *sql.DB // a few, which cannot write
	searches *sql.DB // as many more, for what may take long
	cut      context.Context
	cutNow   context.CancelFunc // ends cut, and with it the calls under way
	calling  gate               // counts the calls under way
}

// Monitors keeps the monitors.
func (s *Store) Monitors() monitor.Store { return monitors{s.monitorRecords()} }

// Rules keeps the filter rules.
func (s *Store) Rules() rule.Store { return rules{s.ruleRecords()} }

// Endpoints keeps the webhook endpoints, secrets as given.
func (s *Store) Endpoints() deliver.EndpointStore { return endpoints{s} }

// Journal records detections.
func (s *Store) Journal() detect.Journal { return journal{s} }

// Outbox holds the open deliveries.
func (s *Store) Outbox() deliver.Outbox { return outbox{s} }

// Replays keeps the replays. A step looks at up to 256 events.
func (s *Store) Replays() deliver.Replays { return replays{s} }

// Log answers questions about deliveries and events. The total of a question
// about deliveries takes reading all that are retained of the owner.
func (s *Store) Log() deliver.Log { return deliveryLog{s} }

// Ledger keeps balances. A reservation without ExpiresAt does not expire.
func (s *Store) Ledger() billing.Ledger { return ledger{s} }

// Close waits for the calls under way and closes the file. Later calls, of Close
// too, return ErrClosed. When ctx ends first, Close ends reads and queued writes
// with ErrClosed, finishes the transaction under way, and returns ctx.Err().
func (s *Store) Close(ctx context.Context) error {
	idle, err := s.calling.shut()
	if err != nil {
		return err
	}
	select {
	case <-idle:
	case <-ctx.Done():
		err = ctx.Err()
		s.cutNow()
	}
	s.w.stop()
	crashpoint.Hit("sqlite.close.stopped")
	s.cutNow()
	return errors.Join(err, s.disconnect())
}

// disconnect closes the connections. The last one, the writer's, copies the log into
// the file. Then another Store may have the file.
func (s *Store) disconnect() (err error) {
	for _, db := range []*sql.DB{s.searches, s.reads, s.writes, s.hold} {
		if db != nil {
			err = errors.Join(err, wrap(db.Close()))
		}
	}
	inUse.leave(s.file)
	return err
}

// write runs do in a transaction: see writer.write.
func (s *Store) write(ctx context.Context, do func(*tx) error) error {
	if err := s.calling.enter(); err != nil {
		return err
	}
	defer s.calling.leave()
	return s.w.write(ctx, do)
}

// snapshot is the state after a commit, for a call that reads.
type snapshot struct {
	ctx context.Context
	tx  *sql.Tx
}

func (r *snapshot) query(query string, args ...any) (*sql.Rows, error) {
	return r.tx.QueryContext(r.ctx, query, args...)
}

// read shows do the state of one moment. It waits for no writer.
func (s *Store) read(ctx context.Context, do func(*snapshot) error) error {
	if err := s.calling.enter(); err != nil {
		return err
	}
	defer s.calling.leave()
	return s.show(ctx, s.reads, do)
}

// search is read for queries that may take long. They have connections of their
// own, so that others need not wait for them.
func (s *Store) search(ctx context.Context, do func(*snapshot) error) error {
	if err := s.calling.enter(); err != nil {
		return err
	}
	defer s.calling.leave()
	return s.show(ctx, s.searches, do)
}

// show runs do on a snapshot from a pool, within a call that calling has counted.
func (s *Store) show(ctx context.Context, from *sql.DB, do func(*snapshot) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.cut, cancel)()
	err := look(inner, from, do)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // rather than SQLite's error of an interruption
	case s.cut.Err() != nil:
		return ErrClosed
	}
	return err
}

func look(ctx context.Context, from *sql.DB, do func(*snapshot) error) error {
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

// gate counts the calls under way until it is shut.
type gate struct {
	mu      sync.Mutex
	callers int
	idle    chan struct{} // nil while open; closed when shut and empty
}

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		return ErrClosed
	}
	g.callers++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.callers--; g.callers == 0 && g.idle != nil {
		close(g.idle)
	}
}

func (g *gate) shut() (idle <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		return nil, ErrClosed
	}
	g.idle = make(chan struct{})
	if g.callers == 0 {
		close(g.idle)
	}
	return g.idle, nil
}

// pageBounds turns page, from 1, of size items into LIMIT and OFFSET; zero
// means page 1 and size 20.
func pageBounds(page, size int) (limit, offset int64) {
	page, size = max(page, 1), max(size, 0)
	if size == 0 {
		size = 20
	}
	if int64(page-1) > math.MaxInt64/int64(size) { // the product below would overflow
		return int64(size), math.MaxInt64
	}
	return int64(size), int64(page-1) * int64(size)
}
