package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// kit makes stores in files. Reopen opens what a process that died left behind,
// closes it, and opens it again.
func kit() storetest.Kit {
	clock := storetest.NewClock()
	const retention = time.Hour
	var paths sync.Map // store -> path
	openAt := func(t testing.TB, path string) storage.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: clock.Now, Retention: retention})
		must(t, err)
		if testsize.Long() {
			s.DoTwice()
		}
		paths.Store(s, path)
		return s
	}
	pathOf := func(s storage.Store) string {
		path, _ := paths.Load(s)
		return path.(string)
	}
	return storetest.Kit{
		Open: func(t testing.TB) storage.Store {
			t.Helper()
			return openAt(t, newFile(t))
		},
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			t.Helper()
			if !restarts(t) {
				t.Error("TestPowerLossConformance leaves this case out, which opens a store again")
			}
			left := crashed(t, s, pathOf(s))
			must(t, openAt(t, left).Close(context.Background()))
			return openAt(t, left)
		},
		Dump: func(t testing.TB, s storage.Store) string {
			db := raw(t, pathOf(s))
			var all strings.Builder
			for _, table := range selected(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
				fmt.Fprintln(&all, selected(t, db, "SELECT * FROM "+table[0].String))
			}
			must(t, db.Close())
			return all.String()
		},
		Features:  storetest.Features{Durable: true},
		Clock:     clock,
		Retention: retention,
		// The defaults.
		IDRetention:    30 * 24 * time.Hour,
		EntryRetention: 400 * 24 * time.Hour,
	}
}

// selected returns the rows that a query selects.
func selected(t testing.TB, db *sql.DB, query string) (list [][]sql.NullString) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	for rows.Next() {
		row, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		must(t, rows.Scan(to...))
		list = append(list, row)
	}
	must(t, rows.Err())
	return list
}

// crashed closes a store and leaves its files as a process that dies does, with the
// last writes in the log. Another connection keeps Close from copying them into the
// file.
func crashed(t testing.TB, s storage.Store, path string) string {
	t.Helper()
	other := raw(t, path)
	run(t, other, "SELECT count(*) FROM sqlite_schema")
	must(t, s.Close(context.Background()))
	left := crash(t, path)
	must(t, other.Close())
	return left
}

func TestConformance(t *testing.T) {
	t.Parallel() // the longest by far
	storetest.TestStore(t, kit())
}

func BenchmarkStore(b *testing.B) { storetest.BenchStore(b, kit()) }
