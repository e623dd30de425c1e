package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
)

// maxGroup bounds how many calls share a transaction, and so how long the first
// of them can wait for the others.
const maxGroup = 256

// writer owns the one connection that writes. While a transaction is synced to
// the disk, calls queue up; the next transaction takes all of them, and those that
// come before it is synced, so that the price of a sync is shared by as many as
// came and nobody waits for company.
// The queue holds one job for each caller that waits.
type writer struct {
	db        *sql.DB
	log       string // the path of the log beside the file
	logger    *slog.Logger
	retention retention

	mu     sync.Mutex
	queue  []*job
	closed bool

	bell chan struct{} // one slot: there may be something in the queue
	done chan struct{} // closed when run has returned

	// The rest belongs to run.
	conn    *sql.Conn // nil until needed, and after it broke
	stmts   map[statement]*sql.Stmt
	failing bool

	tolerated int64 // bytes of the log up to which nothing is done about it
	crowded   bool  // reads were in the way the last time
}

// job is a call that waits for its transaction.
type job struct {
	ctx  context.Context
	do   func(*tx) error
	err  error
	done chan struct{}
}

// group are the jobs of one transaction.
type group struct{ jobs []*job }

// newWriter takes over a connection of db, to the file at path.
func newWriter(db *sql.DB, conn *sql.Conn, path string, logger *slog.Logger, r retention) *writer {
	w := &writer{
		db: db, log: path + "-wal", logger: logger, retention: r,
		bell: make(chan struct{}, 1), done: make(chan struct{}), tolerated: logLimit,
	}
	w.use(conn)
	return w
}

// write runs do in a transaction and returns when that is on the disk. An error
// of do undoes what do did, and nothing else. A context that ends before do has
// begun withdraws it, also while another program has the file locked; afterwards
// the outcome is waited for.
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

// withdraw takes a job out of the queue; false when it is not there any more.
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

// stop refuses what is queued, waits for the transaction under way, and gives
// the connection back.
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
			w.group()
		}
	}
}

func (w *writer) waiting() (n int, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue), w.closed
}

// take gives the first jobs of the queue, up to n.
func (w *writer) take(n int) []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, len(w.queue))
	jobs := w.queue[:n:n]
	w.queue = append([]*job(nil), w.queue[n:]...)
	return jobs
}

// group begins a transaction, which may have to wait for another program, and
// takes into it the calls that are there then.
func (w *writer) group() {
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

// connect takes the connection if there is none.
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

// disconnect drops the connection and its statements. The pool keeps none idle,
// so that the next one is new.
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

// finish answers the callers. An error of the whole group goes before success,
// not before a job's own error.
func finish(jobs []*job, err error) {
	for _, j := range jobs {
		if j.err == nil {
			j.err = err
		}
		close(j.done)
	}
}
