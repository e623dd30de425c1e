package sqlite

import (
	"errors"
	"fmt"
	"runtime/debug"

	driver "modernc.org/sqlite"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// begin starts a transaction, unless a newer version has changed the schema:
// what this one writes might not fit it.
func (w *writer) begin() (*tx, error) {
	if err := w.connect(); err != nil {
		return nil, err
	}
	t := &tx{w: w, owners: make(map[string]*account)}
	if err := t.exec("BEGIN IMMEDIATE"); err != nil {
		w.disconnect() // whatever it is, the next group starts afresh
		return nil, err
	}
	if err := t.know(); err != nil {
		w.disconnect()
		return nil, err
	}
	t.late = w.known.late
	return t, nil
}

// commit runs a group in the transaction that was begun, each job in a savepoint
// unless it is alone. Those that came while it ran the others' statements take
// part, maxGroup in all: a sync costs more than most of them. After an error of
// it nothing is acknowledged. When COMMIT fails, as when the disk refuses to
// sync, nothing is visible either, but all of it may be in the log, to be found if
// the process dies now. The next transaction is written over it, and syncs for
// itself every byte that it needs: so each is its own proof that the disk works
// again.
func (w *writer) commit(t *tx, g *group) (err error) {
	undo := true
	defer func() {
		if !undo {
			return
		}
		t.exec("ROLLBACK") // fails when SQLite, short of disk, has done so by itself
		if err != nil {
			w.known = nil
		} else if w.known != nil {
			w.known.forget()
		}
	}()
	if len(g.jobs) == 0 {
		return nil // withdrawn
	}
	for done := 0; done < len(g.jobs); done++ {
		j := g.jobs[done]
		if j.err = j.ctx.Err(); j.err == nil && len(g.jobs) == 1 {
			if j.err = t.run(j.do); j.err != nil {
				return nil // undone with the transaction
			}
		} else if j.err == nil {
			if j.err, err = t.apart(j.do); err != nil {
				return err
			}
		}
		if done == len(g.jobs)-1 {
			if _, closed := w.waiting(); !closed {
				g.jobs = append(g.jobs, w.take(maxGroup-len(g.jobs))...)
			}
		}
	}
	// Old rows left behind are no reason to refuse new ones.
	more, refused := w.house.untidy(t)
	if more {
		if refused, err = t.apart(w.house.tidy); err != nil {
			return err
		}
	}
	if t.fold == nil && (len(w.known.fold.moving) > 0 || w.known.fold.logged+len(t.moved) >= foldAt) {
		failed, err := t.apart((*tx).foldSome)
		if err != nil {
			return err
		}
		refused = errors.Join(refused, failed)
	}
	crashpoint.Hit("sqlite.tx.written")
	if err := t.exec("COMMIT"); err != nil {
		t.exec("ROLLBACK")
		undo = false
		w.disconnect() // with all that it knows of the transaction
		return err
	}
	undo = false
	w.known.learn(&t.pace)
	crashpoint.Hit("sqlite.tx.committed")
	if refused != nil {
		w.logger.Warn("old records not removed", "error", refused)
	}
	return nil
}

// run is a call, or what is removed after it. What it makes of the owners is
// written at its end.
func (t *tx) run(do func(*tx) error) error {
	if err := guard(func() error { return do(t) }); err != nil {
		return err
	}
	return t.saveOwners()
}

// guard turns a panic, as of Options.Now, into an error of the call: it would
// end the process, with the calls of everybody else.
func guard(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("sqlite: panic: %v\n%s", v, debug.Stack())
		}
	}()
	return do()
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
		t.w.known.forget()
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
