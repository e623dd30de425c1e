package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// What contradicts itself in a store is damage.
func TestContradictionsAreFound(t *testing.T) {
	const (
		anEvent = `INSERT INTO events (n, id, owner, seq, source_kind, source_id, source_name, tweet_id, author_username, author_key,
			text_preview, tweet_url, platform, committed_at, latency, body) VALUES (1, 'evt', 'ada', 1, '', '', '', '', '', '', '', '', '', 1, 0, x'');`
		aMonitor = `INSERT INTO records (kind, id, owner, parent_kind, parent, status, size, price, version) VALUES ('monitor', 'mon', 'ada', '', '', 'paused', 1, 1, 1);`
	)
	for _, row := range []struct{ wrong, want string }{
		{anEvent, "event evt has an open delivery and is settled, or neither"},
		{anEvent + `INSERT INTO settled VALUES (1, 1); INSERT INTO deliveries (n, id, endpoint_id, due_at) VALUES (65536, 'dlv', '', 1)`, "event evt has an open delivery"},
		{`INSERT INTO settled VALUES (1, 1)`, "a row of settled is of no event"},
		{`INSERT INTO attempts VALUES (65536, 0, 1, 1, 1, 200, '', '')`, "a row of attempts is of no delivery"},
		{`INSERT INTO deliveries (n, id, endpoint_id, attempts) VALUES (65536, 'dlv', '', 1)`, "delivery dlv has another number of attempts"},
		{`INSERT INTO owners (owner, reserved) VALUES ('ada', 5)`, "the reservations of ada have another sum"},
		{aMonitor + `INSERT INTO source_totals VALUES ('ada', 'monitor', 'mon', 5)`, "the entries of mon have another sum"},
		{aMonitor + `UPDATE record_sums SET price = 2`, "the sums of records of ada are not those of their monitors"},
		{aMonitor + `DELETE FROM record_sums`, "the sums of records of ada lack monitors"},
	} {
		path := filepath.Join(t.TempDir(), "store.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			err = store.Close(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		s, err := readSQL(t.Context(), inSQLite, "file:"+path)
		if err != nil || s.Damage != "" {
			t.Errorf("a new store: damage %q, %v", s.Damage, err)
		}
		if _, err := db.Exec(row.wrong); err != nil {
			t.Fatal(row.wrong, err)
		}
		if s, err = readSQL(t.Context(), inSQLite, "file:"+path); err != nil || !strings.Contains(s.Damage, row.want) {
			t.Errorf("%s: damage %q, %v, want %q", row.wrong, s.Damage, err, row.want)
		}
	}
}
