package sqlite

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	driver "modernc.org/sqlite"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// present returns ErrMoved if the path does not name the file that is open: what is written to it
// would be lost with it. It looks once a second.
func (w *writer) present() error {
	if time.Since(w.looked) < time.Second {
		return nil
	}
	if now, err := os.Stat(w.path); err != nil || !os.SameFile(now, w.file) {
		return fmt.Errorf("%w: %s", ErrMoved, w.path)
	}
	w.looked = time.Now()
	return nil
}

// begin starts a transaction. It waits up to busyTimeout for other connections that write.
func (w *writer) begin() (*tx, error) {
	if err := w.present(); err != nil {
		return nil, err
	}
	if err := w.connect(); err != nil {
		return nil, err
	}
	t := &tx{conn: w.conn, stmts: w.stmts}
	s, err := t.prepare(statement{query: "BEGIN IMMEDIATE"})
	if err == nil {
		_, err = s.ExecContext(w.ctx) // the end of the context ends the wait
	}
	switch {
	case err == nil:
		return t, nil
	case w.ctx.Err() != nil:
		err = ErrClosed
	}
	w.disconnect() // after any error the next group gets a new connection
	return nil, wrap(err)
}

// commit runs a group's jobs in the transaction t and commits it. Each job but the first has a
// savepoint. Jobs that are queued meanwhile join the group, because a sync costs more than most
// jobs. If commit returns an error, no job is acknowledged.
//
// When COMMIT fails, for example because a sync fails, no change is visible. But the changes may be
// in the log. If the process ended now, Open would find them. The next transaction overwrites them,
// and its COMMIT syncs all bytes that it needs. When that succeeds, the disk works again.
func (w *writer) commit(t *tx, g *group) (err error) {
	undo := true
	defer func() {
		if undo {
			t.Exec("ROLLBACK") // fails if SQLite has already rolled back, for example on a full disk
		}
	}()
	ran := false
	for n := 0; n < len(g.jobs) || w.join(g); n++ {
		j := g.jobs[n]
		if !j.taken.CompareAndSwap(false, true) {
			continue // its caller has given up
		}
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if ran {
			if j.err, err = t.inSavepoint(j.do); err != nil {
				return err
			}
			continue
		}
		if j.err = guard(func() error { return j.do(t) }); j.err != nil {
			return nil // undone with the transaction
		}
		ran = true
	}
	if !ran {
		return nil
	}
	var notRemoved error // no reason to refuse new rows
	if step := w.removal.Due(t.added); step > 0 {
		if notRemoved, err = t.inSavepoint(func(t *tx) error { return w.removal.Remove(t, step) }); err != nil {
			return err
		}
	}
	crashpoint.Hit("sqlite.tx.written")
	undo = false
	if err := t.Exec("COMMIT"); err != nil {
		t.Exec("ROLLBACK")
		w.disconnect()
		return err
	}
	crashpoint.Hit("sqlite.tx.committed")
	if notRemoved != nil {
		w.logger.Warn("sqlite: removing old records failed", "error", notRemoved)
	}
	return nil
}

// guard turns a panic of do, for example in Options.Now, into an error of the call. A panic in this
// goroutine would otherwise end the process.
func guard(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("sqlite: panic: %v\n%s", v, debug.Stack())
		}
	}()
	return do()
}

// inSavepoint runs do in a savepoint. If do fails, its changes are undone, and refused is its
// error. If err is not nil, the whole transaction is lost.
func (t *tx) inSavepoint(do func(*tx) error) (refused, err error) {
	if err := t.Exec("SAVEPOINT job"); err != nil {
		return nil, err
	}
	added := t.added
	if refused = guard(func() error { return do(t) }); refused != nil {
		t.added = added
		if t.Exec("ROLLBACK TO job") != nil {
			return refused, fmt.Errorf("%w (transaction lost)", refused)
		}
	}
	return refused, t.Exec("RELEASE job")
}

// report logs the first failure of the disk or database, and later the recovery.
func (w *writer) report(jobs []*job, err error) {
	for _, j := range jobs {
		if err == nil && fromSQLite(j.err) {
			err = j.err
		}
	}
	switch {
	case err != nil && !w.failing:
		w.failing = true
		w.logger.Error("sqlite: writing failed", "error", err)
	case err == nil && w.failing:
		w.failing = false
		w.logger.Info("sqlite: writing works again")
	}
}

// fromSQLite reports whether SQLite, rather than the caller, caused the error.
func fromSQLite(err error) bool {
	var e *driver.Error
	return errors.As(err, &e)
}
