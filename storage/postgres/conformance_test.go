package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// kit opens stores in schemas of one database. url returns the database's address.
func kit(url func() string) storetest.Kit {
	clock := storetest.NewClock()
	const retention = time.Hour
	var mu sync.Mutex
	schemas := map[storage.Store]string{}
	last := 0
	open := func(t testing.TB, schema string) storage.Store {
		t.Helper()
		s, err := postgres.Open(t.Context(), url(), postgres.Options{Schema: schema, Now: clock.Now, Retention: retention, Connections: 8})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		schemas[s] = schema
		return s
	}
	schemaOf := func(s storage.Store) string {
		mu.Lock()
		defer mu.Unlock()
		return schemas[s]
	}
	return storetest.Kit{
		Open: func(t testing.TB) storage.Store {
			mu.Lock()
			last++
			schema := fmt.Sprint("case ", last)
			mu.Unlock()
			t.Cleanup(func() { execute(t, url(), "DROP SCHEMA "+pgx.Identifier{schema}.Sanitize()+" CASCADE") })
			return open(t, schema)
		},
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			must(t, s.Close(context.Background()))
			return open(t, schemaOf(s))
		},
		Join:     func(t testing.TB, s storage.Store) storage.Store { return open(t, schemaOf(s)) },
		Dump:     func(t testing.TB, s storage.Store) string { return dump(t, url(), schemaOf(s)) },
		Features: storetest.Features{Durable: true, Shared: true, Signals: true},
		Clock:    clock, Retention: retention,
		Seeds: testsize.Of(1, 1, 3),
		// The defaults.
		IDRetention:    30 * 24 * time.Hour,
		EntryRetention: 400 * 24 * time.Hour,
	}
}

// dump returns all rows of a schema's tables.
func dump(t testing.TB, url, schema string) string {
	t.Helper()
	server, err := pgx.Connect(t.Context(), url+"&default_query_exec_mode=exec") // a pooler knows no prepared statements
	must(t, err)
	defer server.Close(context.Background())
	conn, err := server.Begin(t.Context())
	must(t, err)
	defer conn.Rollback(t.Context())
	_, err = conn.Exec(t.Context(), "SET LOCAL bytea_output = 'escape'")
	must(t, err)
	found, err := conn.Query(t.Context(), "SELECT table_name::text FROM information_schema.tables WHERE table_schema = $1 AND table_type = 'BASE TABLE'", schema)
	must(t, err)
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	must(t, err)
	var all strings.Builder
	for _, table := range tables {
		found, err := conn.Query(t.Context(), "SELECT t::text FROM "+pgx.Identifier{schema, table}.Sanitize()+" t")
		must(t, err)
		rows, err := pgx.CollectRows(found, pgx.RowTo[string])
		must(t, err)
		fmt.Fprintln(&all, table, rows)
	}
	return all.String()
}

func execute(t testing.TB, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), sql)
	must(t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A server that is killed each third time that a store is opened again loses nothing. Its machine
// lives on, so it need not sync.
func TestConformance(t *testing.T) {
	server := pgtest.Single(t, "fsync off", "max_wal_size 64MB", "min_wal_size 32MB")
	url := server.NewDatabase(t)
	kit := kit(func() string { return url })
	reopen, reopened := kit.Reopen, 0
	kit.Reopen = func(t testing.TB, s storage.Store) storage.Store {
		if reopened++; reopened%3 == 0 {
			server.Restart()
		}
		return reopen(t, s)
	}
	storetest.TestStore(t, kit)
}

// Behind PgBouncer in transaction mode there are neither prepared statements, nor settings of
// sessions, nor notifications.
func TestPoolerConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole suite a second time")
	}
	server := pgtest.Single(t, "fsync off")
	url := pgtest.Bouncer(t, server).Of(server.NewDatabase(t))
	kit := kit(func() string { return url })
	kit.Features.Signals = false
	kit.Seeds = 1
	storetest.TestStore(t, kit)
}

func BenchmarkStore(b *testing.B) {
	url := pgtest.Single(b).NewDatabase(b)
	storetest.BenchStore(b, kit(func() string { return url }))
}
