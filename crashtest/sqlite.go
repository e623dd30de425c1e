package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// sqliteFile is the store under test as the parent has it: a file that it reads
// with SQL of its own.
type sqliteFile struct {
	dir       string
	retaining bool
}

func (s sqliteFile) path() string { return filepath.Join(s.dir, "store.db") }

func (s sqliteFile) config() storeConfig {
	return storeConfig{Kind: kindSQLite, Address: s.path(), Retaining: s.retaining}
}

func (s sqliteFile) backups() string          { return s.dir }
func (s sqliteFile) disturb() (string, error) { return "", nil }
func (s sqliteFile) close() error             { return nil }

// expired is the latest time at which an event can have been settled that is past
// its retention now.
func (s sqliteFile) expired() time.Time {
	if !s.retaining {
		return time.Time{}
	}
	return time.Now().Add(-retention)
}

func openSQLite(ctx context.Context, cfg storeConfig) (opened, error) {
	opts := sqlite.Options{}
	if cfg.Retaining {
		opts.Retention = retention
	}
	store, err := sqlite.Open(ctx, cfg.Address, opts)
	if err != nil {
		return opened{}, err
	}
	return opened{store, store.Backup}, nil
}

// read reads a copy of the files, so that the next process finds them as the kill
// has left them.
func (s sqliteFile) read(ctx context.Context) (state, error) {
	dir, err := os.MkdirTemp(s.dir, "copy")
	if err != nil {
		return state{}, err
	}
	defer os.RemoveAll(dir)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := copyFile(filepath.Join(dir, "copy.db"+suffix), s.path()+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return state{}, err
		}
	}
	return readSQLite(ctx, filepath.Join(dir, "copy.db"), s.expired())
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// readSQLite reads a whole file with SQL. It reads tables, except where a view that
// the store has for people shows the same without rounding.
func readSQLite(ctx context.Context, path string, expired time.Time) (s state, err error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return s, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	r := reader{ctx: ctx, db: db}
	r.each(`SELECT count(*) FROM sqlite_schema`, func(scan scanner) error { return scan(&r.tables) })
	if r.err != nil || r.tables == 0 { // the file is still empty
		return s, r.err
	}
	r.each(`PRAGMA integrity_check(3)`, func(scan scanner) error {
		var found string
		if err := scan(&found); err != nil || found == "ok" {
			return err
		}
		s.Damage = strings.Join([]string{s.Damage, "damaged file: " + found}, " ")
		return nil
	})
	r.detections(&s, expired)
	r.deliveries(&s)
	r.money(&s)
	r.records(&s)
	return s, r.err
}

// reader runs queries, and keeps the first error.
type reader struct {
	ctx    context.Context
	db     *sql.DB
	tables int
	err    error
}

type scanner func(into ...any) error

func (r *reader) each(query string, row func(scanner) error) {
	if r.err != nil {
		return
	}
	rows, err := r.db.QueryContext(r.ctx, query)
	if err != nil {
		r.err = fmt.Errorf("crashtest: %s: %w", query, err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			r.err = fmt.Errorf("crashtest: %s: %w", query, err)
			return
		}
	}
	r.err = rows.Err()
}

func (r *reader) detections(s *state, expired time.Time) {
	r.each(`SELECT id, owner, source_id, tweet_id, author_username, seq, committed_at,
		coalesce((SELECT settled_at FROM settled WHERE event = events.n), 0) FROM events ORDER BY owner, seq`, func(scan scanner) error {
		var e event
		var at, settled int64
		err := scan(&e.ID, &e.Owner, &e.Source, &e.Tweet, &e.Author, &e.Seq, &at, &settled)
		e.Committed = time.Unix(0, at)
		e.Expired = settled != 0 && !time.Unix(0, settled).After(expired)
		s.Events = append(s.Events, e)
		return err
	})
	r.each(`SELECT id FROM removed_events`, func(scan scanner) error {
		var id string
		err := scan(&id)
		s.Removed = append(s.Removed, id)
		return err
	})
	s.Cursors = make(map[string]time.Time)
	r.each(`SELECT target, since FROM cursors WHERE since IS NOT NULL`, func(scan scanner) error {
		var name string
		var at int64
		err := scan(&name, &at)
		s.Cursors[name] = time.Unix(0, at)
		return err
	})
}

func (r *reader) deliveries(s *state) {
	at := make(map[string]int)
	r.each(`SELECT d.id, coalesce(e.id, ''), d.endpoint_id, d.state, d.due_at IS NOT NULL FROM deliveries d LEFT JOIN events e ON e.n = d.event`, func(scan scanner) error {
		var d delivery
		err := scan(&d.ID, &d.Event, &d.Endpoint, &d.State, &d.Open)
		at[d.ID] = len(s.Deliveries)
		s.Deliveries = append(s.Deliveries, d)
		return err
	})
	r.each(`SELECT delivery, attempt, status_code, error FROM attempt_log ORDER BY delivery, attempt`, func(scan scanner) error {
		var id string
		var a attempt
		if err := scan(&id, &a.N, &a.Status, &a.Error); err != nil {
			return err
		}
		d := &s.Deliveries[at[id]]
		d.Attempts = append(d.Attempts, a)
		return nil
	})
}

func (r *reader) money(s *state) {
	r.each(`SELECT id, owner, amount, balance FROM ledger_entries ORDER BY n`, func(scan scanner) error {
		var e entry
		err := scan(&e.ID, &e.Owner, &e.Amount, &e.Balance)
		s.Entries = append(s.Entries, e)
		return err
	})
	s.Balances = make(map[string]balance)
	r.each(`SELECT owner, available, reserved FROM owners`, func(scan scanner) error {
		var owner string
		var b balance
		err := scan(&owner, &b.Available, &b.Reserved)
		s.Balances[owner] = b
		return err
	})
	r.each(`SELECT id, owner, amount, coalesce(expires_at, 0) FROM reservations`, func(scan scanner) error {
		var v reservation
		var at int64
		err := scan(&v.ID, &v.Owner, &v.Amount, &at)
		if at != 0 {
			v.Expires = time.Unix(0, at)
		}
		s.Reservations = append(s.Reservations, v)
		return err
	})
}

func (r *reader) records(s *state) {
	r.each(`SELECT record FROM monitors`, func(scan scanner) error {
		var doc string
		if err := scan(&doc); err != nil {
			return err
		}
		var m struct {
			ID, Owner, Name, Status string
			Accounts                []accountSince
		}
		if err := json.Unmarshal([]byte(doc), &m); err != nil {
			return err
		}
		s.Monitors = append(s.Monitors, watch{m.ID, m.Owner, m.Name, m.Status == "active", m.Accounts})
		return nil
	})
	r.each(`SELECT id, tag, record FROM rules`, func(scan scanner) error {
		var f filterRule
		var doc string
		if err := scan(&f.ID, &f.Tag, &doc); err != nil {
			return err
		}
		var shown struct {
			WebhookURL string
			Since      time.Time
		}
		if err := json.Unmarshal([]byte(doc), &shown); err != nil {
			return err
		}
		f.URL, f.Since = shown.WebhookURL, shown.Since
		s.Rules = append(s.Rules, f)
		return nil
	})
	r.each(`SELECT record FROM replays`, func(scan scanner) error {
		var doc string
		if err := scan(&doc); err != nil {
			return err
		}
		var v replay
		err := json.Unmarshal([]byte(doc), &v)
		s.Replays = append(s.Replays, v)
		return err
	})
	r.each(`SELECT id, source_id, url FROM endpoints`, func(scan scanner) error {
		var e endpoint
		err := scan(&e.ID, &e.Source, &e.URL)
		s.Endpoints = append(s.Endpoints, e)
		return err
	})
}
