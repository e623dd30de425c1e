package postgres

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/internal/pgtest"
)

// fakeClock is a clock that stands still until a test advances it.
type fakeClock struct{ micros atomic.Int64 }

func newClock() *fakeClock {
	c := new(fakeClock)
	c.micros.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	return c
}

func (c *fakeClock) Now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *fakeClock) Advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// testDB is a database with the tables of a fleet, in a schema of its own.
type testDB struct {
	*pgtest.Server
	url string
}

func newDB(t *testing.T) *testDB {
	t.Helper()
	server := pgtest.Single(t, "fsync off")
	return &testDB{server, server.NewDatabase(t)}
}

func (db *testDB) exec(t *testing.T, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.url)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql)
	must(t, err)
}

// open opens a store that goes by the time of now, or the server's if now is nil.
func (db *testDB) open(t *testing.T, now func() time.Time) *Store {
	t.Helper()
	return db.openSchema(t, "streams", db.url, now)
}

func (db *testDB) openSchema(t *testing.T, schema, url string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, Options{Schema: schema, Now: now})
	must(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// value returns the only value of a query.
func value[T any](t *testing.T, s *Store, sql string, args ...any) (v T) {
	t.Helper()
	must(t, s.reads.QueryRow(context.Background(), sql, args...).Scan(&v))
	return v
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
