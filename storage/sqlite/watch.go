package sqlite

import (
	"context"
	"database/sql"
	"slices"

	"github.com/streamwatch/streamwatch/fleet"
)

// maxNews is how many new events are looked at one by one. For more there is one SignalLook.
const maxNews = 10_000

// watch notices what other connections commit, those of the same store included. It has a
// connection of its own, for SQLite's data_version counts what others than the asking
// connection commit.
type watch struct {
	s       *Store
	db      *sql.DB
	conn    *sql.Conn // nil before the first call, and after it broke
	ask     *sql.Stmt
	version int64
	seen    *seen // nil when something may have been missed
}

// seen is the state of the file up to which signals were given.
type seen struct {
	change  int64             // changes.n
	event   int64             // events.n
	due     int64             // due_parts.n
	free    int               // parts
	applied map[string]uint64 // by term
	closed  map[string]int64  // by key
}

func newWatch(s *Store) (*watch, error) {
	db, err := connect(s.path, s.file, 1, "query_only(1)")
	return &watch{s: s, db: db}, err
}

func (w *watch) close() {
	w.drop()
	w.db.Close()
}

// changed reports whether something may have been committed since the last call.
func (w *watch) changed(ctx context.Context) bool {
	if w.conn == nil && w.connect(ctx) != nil {
		return false
	}
	was := w.version
	if err := w.ask.QueryRowContext(ctx).Scan(&w.version); err != nil {
		w.drop()
		return false
	}
	return w.version != was || w.seen == nil
}

func (w *watch) connect(ctx context.Context) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	if w.ask, err = w.conn.PrepareContext(ctx, "PRAGMA data_version"); err != nil {
		w.drop()
	}
	return err
}

func (w *watch) drop() {
	if w.ask != nil {
		w.ask.Close()
	}
	if w.conn != nil {
		w.conn.Close()
	}
	w.conn, w.ask, w.seen = nil, nil, nil
}

// news gives signals of what was committed since the last call.
func (w *watch) news(ctx context.Context) (news []fleet.Signal) {
	tx, err := w.conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		w.drop()
		return nil
	}
	defer tx.Rollback() // nothing to commit
	r := &snapshot{ctx, tx}
	now := nanos(w.s.opts.Now())
	is, err := readSeen(r, now)
	if err == nil && w.seen != nil {
		news, err = w.seen.news(r, is, now)
	} else {
		news = []fleet.Signal{{Kind: fleet.SignalLook}}
	}
	if err != nil {
		w.drop()
		return nil
	}
	w.seen = is
	return news
}

func readSeen(r *snapshot, now int64) (*seen, error) {
	is := &seen{applied: make(map[string]uint64), closed: make(map[string]int64)}
	_, err := one(r, `SELECT (SELECT coalesce(max(n), 0) FROM changes), `+newestEvent+`, (SELECT coalesce(max(n), 0) FROM due_parts), (SELECT count(*) FROM parts)`, nil,
		&is.change, &is.event, &is.due, &is.free)
	if err != nil {
		return nil, err
	}
	is.free = fleet.Parts - is.free
	err = each(r, `SELECT term, applied FROM terms`, nil, func(rows *sql.Rows) error {
		var term string
		var applied int64
		err := rows.Scan(&term, &applied)
		is.applied[term] = uint64(applied)
		return wrap(err)
	})
	if err != nil {
		return nil, err
	}
	return is, each(r, `SELECT key, until FROM closed WHERE until > ?`, []any{now}, func(rows *sql.Rows) error {
		var key string
		var until int64
		err := rows.Scan(&key, &until)
		is.closed[key] = until
		return wrap(err)
	})
}

// news gives signals of how one state differs from the one before.
func (was *seen) news(r *snapshot, is *seen, now int64) (news []fleet.Signal, err error) {
	if is.change < was.change || is.event < was.event || is.event-was.event > maxNews {
		return []fleet.Signal{{Kind: fleet.SignalLook}}, nil
	}
	if is.change > was.change {
		news = append(news, fleet.Signal{Kind: fleet.SignalChanged, N: uint64(is.change)})
	}
	members := is.free > was.free || len(is.applied) != len(was.applied)
	for term, n := range is.applied {
		before, known := was.applied[term]
		members = members || !known
		if n > before {
			news = append(news, fleet.Signal{Kind: fleet.SignalApplied, Term: term, N: n})
		}
	}
	if members {
		news = append(news, fleet.Signal{Kind: fleet.SignalMembers})
	}
	for key, until := range is.closed {
		if until > was.closed[key] {
			news = append(news, fleet.Signal{Kind: fleet.SignalClosed, Key: key, Until: timeOf(until)})
		}
	}
	var due fleet.Set
	add := func(rows *sql.Rows) error {
		var p fleet.Part
		err := rows.Scan(&p)
		due.Add(p)
		return wrap(err)
	}
	if is.due > was.due {
		err = each(r, `SELECT part FROM due_parts WHERE n > ?`, []any{was.due}, add)
	}
	if err == nil && is.event > was.event {
		// By number: the plus sign, and NOT INDEXED, keep SQLite from other indices.
		err = each(r, `SELECT DISTINCT part FROM deliveries WHERE n >= ? AND +due_at <= ?`, []any{firstDelivery(was.event + 1), now}, add)
	}
	if err != nil {
		return nil, err
	}
	if due != (fleet.Set{}) {
		news = append(news, fleet.Signal{Kind: fleet.SignalDue, Parts: slices.Collect(due.All())})
	}
	if is.event == was.event {
		return news, nil
	}
	err = each(r, `SELECT owner, max(seq) FROM events NOT INDEXED WHERE n > ? GROUP BY owner`, []any{was.event}, func(rows *sql.Rows) error {
		sig := fleet.Signal{Kind: fleet.SignalHead}
		err := rows.Scan(&sig.Key, &sig.N)
		news = append(news, sig)
		return wrap(err)
	})
	return news, err
}
