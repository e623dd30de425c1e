package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

func TestOpen(t *testing.T) {
	server := pgtest.Single(t, "fsync off")
	for _, row := range []struct {
		name   string
		before []string // statements of the role
		schema string
		want   error  // nil for none
		says   string // in the error
	}{
		{name: "an empty database"},
		{name: "a schema that is there and empty", before: []string{`CREATE SCHEMA "my own"`}, schema: "my own"},
		{name: "a name that needs quotes", schema: `a "quoted", 'odd' name`},
		{name: "a schema of another program", before: []string{"CREATE SCHEMA streamwatch", "CREATE TABLE streamwatch.users (id int)"}, want: postgres.ErrForeign, says: `"streamwatch"`},
		{name: "tables of a newer version", before: []string{"CREATE SCHEMA streamwatch", "CREATE TABLE streamwatch.schema_version AS SELECT 2 AS version"},
			want: postgres.ErrVersion, says: "version 2"},
		{name: "tables made by hand", before: []string{"CREATE SCHEMA streamwatch; SET search_path = streamwatch; " + schemaFile(t)}},
		{name: "a name that is too long", schema: strings.Repeat("x", 64), says: "Options.Schema"},
	} {
		t.Run(row.name, func(t *testing.T) {
			url := server.NewDatabase(t)
			for _, sql := range row.before {
				execute(t, url, sql)
			}
			for again := range 2 {
				s, err := postgres.Open(t.Context(), url, postgres.Options{Schema: row.schema})
				if row.want == nil && row.says == "" {
					must(t, err)
					must(t, s.Close(context.Background()))
					continue
				}
				if err == nil || row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
					t.Errorf("Open, time %d: %v, want %v with %q", again+1, err, row.want, row.says)
				}
			}
		})
	}
}

func schemaFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("schema.sql")
	must(t, err)
	return string(text)
}

// A role that may only use the tables can use a schema that was made for it.
func TestRights(t *testing.T) {
	server := pgtest.Single(t, "fsync off")
	url := server.NewDatabase(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	must(t, s.Close(context.Background()))
	server.Exec("CREATE ROLE guest LOGIN")
	execute(t, url, `GRANT USAGE ON SCHEMA streamwatch TO guest; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA streamwatch TO guest;
		GRANT USAGE ON ALL SEQUENCES IN SCHEMA streamwatch TO guest`)
	guest := strings.Replace(url, "//"+pgtest.Role, "//guest", 1)
	s, err = postgres.Open(t.Context(), guest, postgres.Options{})
	must(t, err)
	defer s.Close(context.Background())
	must(t, s.Ports().Journal.Commit(t.Context(), batches(event("acme", "1"))))
	if _, err := postgres.Open(t.Context(), guest, postgres.Options{Schema: "other"}); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("Open of a schema that the role may not make: %v, want PostgreSQL's refusal", err)
	}
}

// Several processes may be the first at the same moment.
func TestOpenAtOnce(t *testing.T) {
	url := pgtest.Single(t, "fsync off").NewDatabase(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			s, err := postgres.Open(t.Context(), url, postgres.Options{Connections: 4})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// OpenPool takes over how a pool connects, and leaves the pool alone.
func TestOpenPool(t *testing.T) {
	config, err := pgxpool.ParseConfig(pgtest.Single(t, "fsync off").NewDatabase(t))
	must(t, err)
	connected := 0
	config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { connected++; return nil }
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	defer pool.Close()
	s, err := postgres.OpenPool(t.Context(), pool, postgres.Options{})
	must(t, err)
	if connected == 0 {
		t.Error("the pool's BeforeConnect was not called for a connection of the store")
	}
	must(t, s.Ports().Journal.Commit(t.Context(), batches(event("acme", "1"))))
	must(t, s.Close(context.Background()))
	var path string
	must(t, pool.QueryRow(t.Context(), "SHOW search_path").Scan(&path))
	if path != `"$user", public` {
		t.Errorf("search_path of the pool's connections is %s, want PostgreSQL's own", path)
	}
}

// Passwords are in no error.
func TestErrorsHideThePassword(t *testing.T) {
	for _, url := range []string{"postgres://user:hidden@127.0.0.1:1/db", "postgres://user:hidden@127.0.0.1:bad/db", "host=127.0.0.1 port=1 user=u password=hidden dbname=x bad"} {
		_, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "hidden") {
			t.Errorf("Open(%q): %v, want an error without the password", url, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, row := range []struct {
		opts postgres.Options
		says string
	}{
		{postgres.Options{Durability: "never"}, `Options.Durability "never"`},
		{postgres.Options{Connections: 3}, "Options.Connections 3"},
	} {
		if _, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/db", row.opts); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("Open with %+v: %v, want an error with %q", row.opts, err, row.says)
		}
	}
}

// The views show what is stored as people read it.
func TestViews(t *testing.T) {
	url := pgtest.Single(t, "fsync off").NewDatabase(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	defer s.Close(context.Background())
	must(t, s.Ports().Journal.Commit(t.Context(), batches(event("acme", "1"))))
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	var owner, state string
	must(t, conn.QueryRow(t.Context(), "SELECT owner, state FROM streamwatch.delivery_log WHERE created > now() - interval '1 hour'").Scan(&owner, &state))
	if owner != "acme" || state != "pending" {
		t.Errorf("delivery_log shows owner %q and state %q, want acme and pending", owner, state)
	}
	for _, view := range []string{"attempt_log", "billing_log"} {
		if _, err := conn.Exec(t.Context(), "SELECT * FROM streamwatch."+view); err != nil {
			t.Error(err)
		}
	}
}
