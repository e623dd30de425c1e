package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"
)

// maxGroup is the maximum number of calls that share a transaction. It limits how long the first of
// them waits for the others.
const maxGroup = 256

// writer owns the only connection that writes. Calls queue up while a transaction is synced to the
// disk. The next transaction takes all of them, and they share the cost of its sync. No call waits
// for others to arrive. The queue has one job for each waiting caller.
type writer struct {
	db        *sql.DB
	path      string // of the file
	logger    *slog.Logger
	retention retention

	mu     sync.Mutex
	queue  []*job
	closed bool

	bell chan struct{} // buffered, size 1; holds a value when the queue may have jobs
	done chan struct{} // closed when run returns

	// The fields below are used by run's goroutine only.
	patience time.Duration // how long to wait for a lock that another program has
	conn     *sql.Conn     // nil until it is needed, and after an error
	stmts    map[statement]*sql.Stmt
	failing  bool // the last write failed

	logBound int64 // size of the log in bytes at which to empty it
	blocked  bool  // reads prevented the last attempt to empty it
}

// job is a call that waits for its transaction.
type job struct {
	ctx  context.Context
	do   func(*tx) error
	err  error
	done chan struct{}
}

// group is the jobs of one transaction.
type group struct{ jobs []*job }

// newWriter returns a writer that uses conn, a connection of db to the file at path.
func newWriter(db *sql.DB, conn *sql.Conn, path string, logger *slog.Logger, r retention) *writer {
	w := &writer{
		db: db, path: path, logger: logger, retention: r, patience: busyTimeout,
		bell: make(chan struct{}, 1), done: make(chan struct{}), logBound: logLimit,
	}
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
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	w.queue = append(w.queue, j)
	w.mu.Unlock()
	w.ring()
	select {
	case <-j.done:
	case <-ctx.Done():
		if w.withdraw(j) {
			return ctx.Err()
		}
		<-j.done
	}
	return j.err
}

func (w *writer) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// withdraw removes a job from the queue. It returns false if the job was no longer there.
func (w *writer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, queued := range w.queue {
		if queued == j {
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			return true
		}
	}
	return false
}

// stop refuses the jobs in the queue, waits for the current transaction, and drops the
// connection.
func (w *writer) stop() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.ring()
	<-w.done
}

// run commits group after group until stop.
func (w *writer) run() {
	defer close(w.done)
	defer w.disconnect()
	for range w.bell {
		for {
			waiting, closed := w.waiting()
			if closed {
				finish(w.take(waiting), ErrClosed)
				return
			}
			if waiting == 0 {
				break
			}
			w.runGroup()
		}
	}
}

func (w *writer) waiting() (n int, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue), w.closed
}

// take removes the first jobs of the queue, up to n.
func (w *writer) take(n int) []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, len(w.queue))
	jobs := w.queue[:n:n]
	w.queue = append([]*job(nil), w.queue[n:]...)
	return jobs
}

// runGroup begins a transaction, then runs the jobs that are in the queue. To begin it may have to
// wait for another program.
func (w *writer) runGroup() {
	t, err := w.begin()
	g := &group{w.take(maxGroup)}
	if err == nil {
		err = guard(func() error { return w.commit(t, g) })
	}
	w.report(g.jobs, err)
	finish(g.jobs, err)
	if err == nil {
		w.shorten()
	}
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
	if err := setTimeout(context.Background(), conn, askEvery); err != nil {
		conn.Close()
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
