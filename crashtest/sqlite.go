package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// sqliteFile is an SQLite store as the parent sees it: a file that it reads with its own SQL.
type sqliteFile struct{ dir string }

func (s sqliteFile) path() string { return filepath.Join(s.dir, "store.db") }

func (s sqliteFile) config() storeConfig    { return storeConfig{Kind: kindSQLite, Address: s.path()} }
func (s sqliteFile) disturb() (bool, error) { return false, nil }
func (s sqliteFile) close() error           { return nil }

func openSQLite(ctx context.Context, cfg storeConfig) (storage.Store, error) {
	return sqlite.Open(ctx, cfg.Address, sqlite.Options{})
}

// read reads a copy of the files. The next process finds the originals as the kill has left them.
func (s sqliteFile) read(ctx context.Context) (state, error) {
	dir, err := os.MkdirTemp(s.dir, "copy")
	if err != nil {
		return state{}, err
	}
	defer os.RemoveAll(dir)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		content, err := os.ReadFile(s.path() + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "copy.db"+suffix), content, 0o600)
		}
		if err != nil {
			return state{}, err
		}
	}
	return readSQLite(ctx, filepath.Join(dir, "copy.db"))
}

// readSQLite reads a whole file with SQL. It reads tables, or one of the store's views where that
// has the same values without rounding.
func readSQLite(ctx context.Context, path string) (s state, err error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return s, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	r := &reader{ctx: ctx, db: db}
	if tables := query[int](r, `SELECT count(*) FROM sqlite_schema`); r.err != nil || tables[0] == 0 { // the file is still empty
		return s, r.err
	}
	for _, found := range query[string](r, `SELECT json_quote(integrity_check) FROM pragma_integrity_check`) {
		if found != "ok" {
			s.Damage += " damaged file: " + found
		}
	}
	s.Events = query[event](r, `SELECT json_object('ID', id, 'Owner', owner, 'Source', source_id, 'Tweet', tweet_id, 'Author', author_username,
		'Seq', seq, 'Committed', `+stamp("committed_at")+`) FROM events ORDER BY owner, seq`)
	s.Cursors = make(map[string]time.Time)
	for _, c := range query[struct {
		Target string
		Since  time.Time
	}](r, `SELECT json_object('Target', target, 'Since', `+stamp("since")+`) FROM cursors WHERE since IS NOT NULL`) {
		s.Cursors[c.Target] = c.Since
	}
	s.Deliveries = query[delivery](r, `SELECT json_object('ID', d.id, 'Event', coalesce(e.id, ''), 'Endpoint', d.endpoint_id, 'State', d.state,
		'Open', json(iif(d.due_at IS NULL, 'false', 'true'))) FROM deliveries d LEFT JOIN events e ON e.n = d.event`)
	at := make(map[string]*delivery)
	for i := range s.Deliveries {
		at[s.Deliveries[i].ID] = &s.Deliveries[i]
	}
	for _, a := range query[struct {
		Delivery string
		attempt
	}](r, `SELECT json_object('Delivery', delivery, 'N', attempt, 'Status', status_code, 'Error', error) FROM attempt_log ORDER BY delivery, attempt`) {
		at[a.Delivery].Attempts = append(at[a.Delivery].Attempts, a.attempt)
	}
	s.Entries = query[entry](r, `SELECT json_object('ID', id, 'Owner', owner, 'Amount', amount, 'Balance', balance) FROM ledger_entries ORDER BY n`)
	s.Balances = make(map[string]balance)
	for _, b := range query[struct {
		Owner string
		balance
	}](r, `SELECT json_object('Owner', owner, 'Available', available, 'Reserved', reserved) FROM owners`) {
		s.Balances[b.Owner] = b.balance
	}
	hooks := `'Hook', json_object('URL', coalesce(CAST(data AS TEXT) ->> 'WebhookURL', ''), 'ID', coalesce(CAST(data AS TEXT) ->> 'WebhookID', ''))`
	for _, m := range query[struct {
		watch
		Status  string
		Created time.Time
	}](r, `SELECT json_object('ID', id, 'Owner', owner, 'Name', name, 'Status', status, 'Created', `+stamp("created_at")+`, 'Accounts', CAST(data AS TEXT) -> 'Accounts', `+hooks+`)
		FROM records WHERE kind = 'monitor'`) {
		m.Active = m.Status == "active"
		for i := range m.Accounts {
			if m.Accounts[i].Since.IsZero() { // not stored: watched since the monitor was made
				m.Accounts[i].Since = m.Created
			}
		}
		s.Monitors = append(s.Monitors, m.watch)
	}
	s.Rules = query[filterRule](r, `SELECT json_object('ID', id, 'Tag', name, `+hooks+`) FROM records WHERE kind = 'rule'`)
	s.Endpoints = query[endpoint](r, `SELECT json_object('ID', id, 'Source', parent, 'URL', name) FROM records WHERE kind = 'endpoint'`)
	return s, r.err
}

// stamp returns SQL that formats a time in nanoseconds for JSON.
func stamp(column string) string {
	return `strftime('%Y-%m-%dT%H:%M:%S', ` + column + ` / 1000000000, 'unixepoch') || printf('.%09dZ', ` + column + ` % 1000000000)`
}

// reader runs queries, and keeps the first error.
type reader struct {
	ctx context.Context
	db  *sql.DB
	err error
}

// query returns the rows of a query. Each row is one JSON text.
func query[T any](r *reader, text string) (list []T) {
	if r.err != nil {
		return nil
	}
	rows, err := r.db.QueryContext(r.ctx, text)
	if err != nil {
		r.err = fmt.Errorf("crashtest: %s: %w", text, err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var doc []byte
		var v T
		if err = rows.Scan(&doc); err == nil {
			err = json.Unmarshal(doc, &v)
		}
		if err != nil {
			r.err = fmt.Errorf("crashtest: %s: %w", text, err)
			return nil
		}
		list = append(list, v)
	}
	r.err = rows.Err()
	return list
}
