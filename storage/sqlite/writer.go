package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	driver "modernc.org/sqlite"

	"github.com/streamwatch/streamwatch/storage/internal/crashpoint"
)

// maxGroup bounds how many calls share a transaction, and so how long the first
// of them can wait for the others.
const maxGroup = 256

// writer owns the one connection that writes. While a transaction is synced to
// the disk, calls queue up; the next transaction takes all of them, so that the
// price of a sync is shared by as many as came and nobody waits for company.
// The queue holds one job for each caller that waits.
type writer struct {
	db     *sql.DB
	logger *slog.Logger
	house  house

	mu     sync.Mutex
	queue  []*job
	closed bool

	bell chan struct{} // one slot: there may be something in the queue
	done chan struct{} // closed when run has returned

	// The rest belongs to run.
	conn    *sql.Conn // nil until needed, and after it broke
	stmts   map[statement]*sql.Stmt
	failing bool
}

// job is a call that waits for its transaction.
type job struct {
	ctx  context.Context
	do   func(*tx) error
	err  error
	done chan struct{}
}

// house is what has to be done at the end of every transaction.
type house interface {
	count(t *tx) error
	untidy(t *tx) (bool, error) // whether there is something to tidy
	tidy(t *tx) error
}

// newWriter takes over a connection of db.
func newWriter(db *sql.DB, conn *sql.Conn, logger *slog.Logger, h house) *writer {
	w := &writer{db: db, logger: logger, house: h, bell: make(chan struct{}, 1), done: make(chan struct{})}
	w.use(conn)
	return w
}

// write runs do in a transaction and returns when that is on the disk. An error
// of do undoes what do did, and nothing else. A context that ends before do has
// begun withdraws it; afterwards the outcome is waited for, so that an error
// always means that nothing was recorded.
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
			w.mu.Lock()
			jobs, closed := w.queue, w.closed
			w.queue = nil
			if !closed && len(jobs) > maxGroup {
				w.queue = append(w.queue, jobs[maxGroup:]...)
				jobs = jobs[:maxGroup]
			}
			w.mu.Unlock()
			if closed {
				finish(jobs, ErrClosed)
				return
			}
			if len(jobs) == 0 {
				break
			}
			err := w.commit(jobs)
			w.report(jobs, err)
			finish(jobs, err)
		}
	}
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

// commit runs a group in one transaction, each job in a savepoint unless it is
// alone. After an error nothing of it is recorded.
func (w *writer) commit(jobs []*job) (err error) {
	if err := w.connect(); err != nil {
		return err
	}
	t := &tx{w: w, owners: make(map[string]*account)}
	if err := t.exec("BEGIN IMMEDIATE"); err != nil {
		w.disconnect() // whatever it is, the next group starts afresh
		return err
	}
	undo := true
	defer func() {
		if undo {
			t.exec("ROLLBACK") // fails when SQLite, short of disk, has done so by itself
		}
	}()
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if len(jobs) == 1 {
			if j.err = t.run(j.do); j.err != nil {
				return nil // undone with the transaction
			}
			continue
		}
		if j.err, err = t.apart(j.do); err != nil {
			return err
		}
	}
	if err := w.house.count(t); err != nil {
		return err
	}
	// Old rows left behind are no reason to refuse new ones.
	more, refused := w.house.untidy(t)
	if more {
		if refused, err = t.apart(w.house.tidy); err != nil {
			return err
		}
	}
	crashpoint.Hit("sqlite.tx.written")
	if err := t.exec("COMMIT"); err != nil {
		return err
	}
	undo = false
	crashpoint.Hit("sqlite.tx.committed")
	if refused != nil {
		w.logger.Warn("old records not removed", "error", refused)
	}
	return nil
}

// run is a call, or what is removed after it. What it makes of the owners is
// written at its end.
func (t *tx) run(do func(*tx) error) error {
	if err := do(t); err != nil {
		return err
	}
	return t.saveOwners()
}

// apart runs do in a savepoint: refused is its error, with what it did undone.
// The other error means that the transaction as a whole is lost.
func (t *tx) apart(do func(*tx) error) (refused, err error) {
	if err := t.exec("SAVEPOINT job"); err != nil {
		return nil, err
	}
	before := t.pace
	if refused = t.run(do); refused != nil {
		t.pace = before
		clear(t.owners)
		if t.exec("ROLLBACK TO job") != nil {
			return refused, fmt.Errorf("%w (transaction lost)", refused)
		}
	}
	return refused, t.exec("RELEASE job")
}

// report logs the first failure of the disk or database, and the recovery.
func (w *writer) report(jobs []*job, err error) {
	for _, j := range jobs {
		if err == nil && broken(j.err) {
			err = j.err
		}
	}
	switch {
	case err != nil && !w.failing:
		w.failing = true
		w.logger.Error("nothing can be recorded", "error", err)
	case err == nil && w.failing:
		w.failing = false
		w.logger.Info("recording works again")
	}
}

// broken tells what SQLite reports from what a caller did wrong.
func broken(err error) bool {
	var e *driver.Error
	return errors.As(err, &e)
}
