package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// Receive looks every lookEvery whether the file has changed, and tells so at most
// every tellEvery.
const (
	lookEvery = 10 * time.Millisecond
	tellEvery = 50 * time.Millisecond
)

// Signals carries none. Receive calls fn with fleet.SignalLook once and when
// something was committed to the file, by this store too: it looks every 10 ms, and
// calls at most every 50 ms. It ends with ErrClosed when the store is closed.
func (s *Store) Signals() fleet.Signals { return signals{s} }

// signals implements fleet.Signals.
type signals struct{ s *Store }

// Send has nothing to do: what a signal could tell was committed.
func (sg signals) Send(ctx context.Context, _ fleet.Signal) error {
	if sg.s.calling.isShut() {
		return ErrClosed
	}
	return ctx.Err()
}

func (sg signals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := sg.s.calling.enter(); err != nil {
		return err
	}
	defer sg.s.calling.leave()
	db, err := connect(sg.s.path, sg.s.file, 1, "query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	w := watch{db: db}
	defer w.drop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var told time.Time
	for changed := true; ; {
		if w.changed(ctx) {
			changed = true
		}
		if now := time.Now(); changed && now.Sub(told) >= tellEvery {
			changed, told = false, now
			fn(fleet.Signal{Kind: fleet.SignalLook})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if sg.s.calling.isShut() {
			return ErrClosed
		}
	}
}

// watch notices what other connections commit, those of the same store included.
type watch struct {
	db      *sql.DB
	conn    *sql.Conn // nil after it broke
	ask     *sql.Stmt
	version int64 // of this connection: others have other numbers
}

// changed reports whether something may have been committed since the last call.
func (w *watch) changed(ctx context.Context) bool {
	if w.conn == nil && w.connect(ctx) != nil {
		return false
	}
	was := w.version
	if err := w.ask.QueryRowContext(ctx).Scan(&w.version); err != nil {
		w.drop()
		return true
	}
	return w.version != was
}

func (w *watch) connect(ctx context.Context) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	if w.ask, err = w.conn.PrepareContext(ctx, "PRAGMA data_version"); err != nil {
		w.drop()
	}
	w.version = 0
	return err
}

func (w *watch) drop() {
	if w.ask != nil {
		w.ask.Close()
	}
	if w.conn != nil {
		w.conn.Close()
	}
	w.conn, w.ask = nil, nil
}
