package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

// maxGroup is the maximum number of calls that share a transaction. It limits how long the first of
// them waits for the others.
const maxGroup = 256

// maxQueued is the maximum number of jobs in the queue. More callers wait until there is room.
const maxQueued = 1024

// writer owns the only connection that writes. Calls queue up while a transaction is synced to the
// disk. The next transaction takes all of them, and they share the cost of its sync. No call waits
// for others to arrive.
type writer struct {
	db      *sql.DB
	logger  *slog.Logger
	removal *sqlstore.Removal

	queue chan *job
	ctx   context.Context // ends when stop is called
	end   context.CancelFunc
	done  chan struct{} // closed when run returns

	// The fields below are used by run's goroutine only.
	conn    *sql.Conn // nil until it is needed, and after an error
	stmts   map[statement]*sql.Stmt
	failing bool // the last write failed
	path    string
	file    os.FileInfo // of path when it was opened
	looked  time.Time   // when path last named file
}

// job is a call that waits for its transaction.
type job struct {
	ctx   context.Context
	do    func(*tx) error
	taken atomic.Bool // by the writer, which runs it, or by its caller, who gives up
	err   error
	done  chan struct{}
}

// newWriter returns a writer that uses conn, a connection of db.
func newWriter(db *sql.DB, conn *sql.Conn, logger *slog.Logger, removal *sqlstore.Removal) *writer {
	w := &writer{
		db: db, logger: logger, removal: removal,
		queue: make(chan *job, maxQueued), done: make(chan struct{}),
	}
	w.ctx, w.end = context.WithCancel(context.Background())
	w.use(conn)
	return w
}

// write runs do in a transaction, and returns when the transaction is on the disk. If do returns an
// error, only its own changes are undone. If ctx ends before do begins, do never runs, even while
// another program has the file locked. Once do has begun, write waits for the outcome.
func (w *writer) write(ctx context.Context, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{ctx: ctx, do: do, done: make(chan struct{})}
	select {
	case w.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return ErrClosed
	}
	var err error
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-w.done:
		err = ErrClosed
	}
	if j.taken.CompareAndSwap(false, true) {
		return err
	}
	<-j.done
	return j.err
}

// stop refuses the jobs in the queue, waits for the current transaction, and drops the
// connection.
func (w *writer) stop() {
	w.end()
	<-w.done
}

// run commits group after group until stop.
func (w *writer) run() {
	defer close(w.done)
	defer w.disconnect()
	for w.ctx.Err() == nil {
		select {
		case j := <-w.queue:
			w.runGroup(&group{[]*job{j}})
		case <-w.ctx.Done():
		}
	}
}

// group is the jobs of one transaction.
type group struct{ jobs []*job }

// join adds the first job of the queue. It returns false if there is none, the group is full, or
// the writer stops.
func (w *writer) join(g *group) bool {
	if len(g.jobs) == maxGroup || w.ctx.Err() != nil {
		return false
	}
	select {
	case j := <-w.queue:
		g.jobs = append(g.jobs, j)
		return true
	default:
		return false
	}
}

// runGroup runs jobs in a transaction. To begin it may have to wait for another program.
func (w *writer) runGroup(g *group) {
	t, err := w.begin()
	if err == nil {
		err = guard(func() error { return w.commit(t, g) })
	}
	w.report(g.jobs, err)
	finish(g.jobs, err)
}

// connect takes a connection if there is none.
func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(context.Background())
	if err != nil {
		return wrap(err)
	}
	w.use(conn)
	return nil
}

func (w *writer) use(conn *sql.Conn) { w.conn, w.stmts = conn, make(map[statement]*sql.Stmt) }

// disconnect drops the connection and its statements. The writer gets a new connection next time,
// because the pool keeps no idle ones.
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

// finish gives each caller its result: the job's own error, or err if the job has none.
func finish(jobs []*job, err error) {
	for _, j := range jobs {
		if j.err == nil {
			j.err = err
		}
		close(j.done)
	}
}
