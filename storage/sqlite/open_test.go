package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// pageSize is the size of a file's pages, in bytes.
const pageSize = 8192

// raw opens a file as another program would.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

func run(t testing.TB, db *sql.DB, query string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query)
	must(t, err)
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	return data
}

// crash copies the files of a store in use to another directory: what a process that
// dies between two calls leaves.
func crash(t testing.TB, path string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "left.db")
	for _, suffix := range []string{"", "-wal"} {
		must(t, os.WriteFile(left+suffix, read(t, path+suffix), 0o600))
	}
	return left
}

// worked is a store with one of everything. Some of it is in the log beside the file
// until Close.
func worked(t *testing.T, path string) *sqlite.Store {
	s, _ := openAt(t, path, sqlite.Options{})
	furnish(t, s)
	commit(t, s, &detect.Batch{Cursor: &detect.Cursor{Target: "new", Since: start}, Events: newEvents(source("acme", "src"), "2")})
	return s
}

func TestReopen(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(t *testing.T, s *sqlite.Store, path string) string // gives the file to open
	}{
		{"after Close", func(t *testing.T, s *sqlite.Store, path string) string { closed(t, s); return path }},
		{"after a crash", func(t *testing.T, s *sqlite.Store, path string) string { return crash(t, path) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a ?#%41 b.db") // a name that an address could get wrong
			s := worked(t, path)
			before := dump(t, s)
			again, _ := openAt(t, row.end(t, s, path), sqlite.Options{})
			want(t, "content", dump(t, again), before)
			b := commitAt(t, again, start, newEvents(source("acme", "src"), "1", "2", "3")...)
			want(t, "sequence numbers", seqs(b.Events), "0 0 3")
			wantErr(t, again.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: "kept", Owner: "acme", Amount: 99}), nil)
		})
	}
}

// A file of a program without the index gets it.
func TestOpenAddsAnIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	closed(t, worked(t, path))
	run(t, raw(t, path), "DROP INDEX deliveries_by_endpoint")
	s, _ := openAt(t, path, sqlite.Options{})
	sql, err := s.Ask(t.Context(), "SELECT sql FROM sqlite_schema WHERE name = 'deliveries_by_endpoint'")
	must(t, err)
	want(t, "index", sql, "CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint_id)")
}

// Wherever the log was cut by the crash, what is left is what was committed up
// to some moment.
func TestATornLogLosesOnlyItsEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	const commits = 20
	for i := range commits {
		commitAt(t, s, start, handled(acme, string(rune('a'+i)), "log"))
	}
	wal := read(t, path+"-wal")
	most, step := 0, 14_003 // within every fourth page
	if testing.Short() {
		step = 42_009
	}
	for cut := len(wal); cut > 0; cut -= step {
		left := crash(t, path)
		must(t, os.WriteFile(left+"-wal", wal[:cut], 0o600))
		again, _ := openAt(t, left, sqlite.Options{})
		evs := eventsOf(t, again, "acme")
		for i, ev := range evs {
			want(t, "sequence number", ev.Seq, uint64(i+1))
		}
		page, err := again.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
		must(t, err)
		want(t, "deliveries", page.Total, len(evs))
		most = max(most, len(evs))
		closed(t, again)
	}
	want(t, "with the whole log", most, commits)
}

func TestOpenRefuses(t *testing.T) {
	// Each makes a file at path, which Open has to leave as it is. Only what a log beside it has may be
	// put into it.
	store := func(change func(t *testing.T, db *sql.DB)) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			closed(t, worked(t, path))
			db := raw(t, path)
			change(t, db)
			must(t, db.Close())
		}
	}
	spoil := func(change func(data []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			closed(t, worked(t, path))
			must(t, os.WriteFile(path, change(read(t, path)), 0o600))
		}
	}
	for _, row := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"a text", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("dear diary"), 0o600)) }, sqlite.ErrForeign},
		{"a long text", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, bytes.Repeat([]byte("dear diary "), 1000), 0o600))
		}, sqlite.ErrForeign},
		{"a directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, sqlite.ErrForeign},
		{"another program's database", func(t *testing.T, path string) {
			db := raw(t, path)
			run(t, db, "CREATE TABLE events (n INTEGER)")
			must(t, db.Close())
		}, sqlite.ErrForeign},
		{"another program's database, not closed", func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			db := raw(t, other)
			run(t, db, "CREATE TABLE a (n INTEGER); PRAGMA journal_mode = WAL; CREATE TABLE events (n INTEGER)")
			must(t, os.Rename(crash(t, other), path))
			must(t, os.WriteFile(path+"-wal", read(t, other+"-wal"), 0o600))
		}, sqlite.ErrForeign},
		{"another application's mark", store(func(t *testing.T, db *sql.DB) { run(t, db, "PRAGMA application_id = 0x73747277") }), sqlite.ErrForeign},
		{"the mark without a schema", store(func(t *testing.T, db *sql.DB) { run(t, db, "PRAGMA user_version = 0") }), sqlite.ErrVersion},
		{"another schema", store(func(t *testing.T, db *sql.DB) {
			run(t, db, fmt.Sprint("PRAGMA user_version = ", sqlite.SchemaVersion+1))
		}), sqlite.ErrVersion},
		{"the schema before", store(func(t *testing.T, db *sql.DB) {
			run(t, db, fmt.Sprint("PRAGMA user_version = ", sqlite.SchemaVersion-1))
		}), sqlite.ErrVersion},
		{"another schema that is in the log only", func(t *testing.T, path string) {
			old := filepath.Join(t.TempDir(), "old.db")
			closed(t, worked(t, old))
			db := raw(t, old)
			run(t, db, fmt.Sprint("PRAGMA user_version = ", sqlite.SchemaVersion+1))
			left := crash(t, old)
			must(t, os.Rename(left, path))
			must(t, os.Rename(left+"-wal", path+"-wal"))
			want(t, "version in the file", int(binary.BigEndian.Uint32(read(t, path)[60:])), sqlite.SchemaVersion)
		}, sqlite.ErrVersion},
		{"cut off", spoil(func(data []byte) []byte { return data[:len(data)-pageSize] }), sqlite.ErrCorrupt},
		{"cut off in the header", spoil(func(data []byte) []byte { return data[:80] }), sqlite.ErrCorrupt},
		{"the schema overwritten", spoil(func(data []byte) []byte { clear(data[100:pageSize]); return data }), sqlite.ErrCorrupt},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			row.make(t, path)
			contents := func() string {
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					return "a directory"
				}
				return string(read(t, path)) + "|" + string(read(t, path+"-wal"))
			}
			before := contents()
			_, noLog := os.Stat(path + "-wal")
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				closed(t, s)
			}
			wantErr(t, err, row.want)
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			if contents() != before && noLog != nil {
				t.Error("the file was changed")
			}
		})
	}
}

func TestOpenWithoutDirectory(t *testing.T) {
	_, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "none", "store.db"), sqlite.Options{})
	wantErr(t, err, fs.ErrNotExist)
}

func TestOpenHonoursAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	wantErr(t, err, context.Canceled)
}

func TestSettings(t *testing.T) {
	defer sqlite.SetSynchronous("OFF")()
	asShipped()
	s, _ := open(t, sqlite.Options{})
	for _, row := range []struct {
		pragma, want string
		ask          func(context.Context, string) (string, error)
	}{
		{"journal_mode", "wal", s.Ask},
		{"synchronous", "2", s.Ask},
		{"temp_store", "2", s.Ask},
		{"cache_size", "-16384", s.Ask},
		{"page_size", strconv.Itoa(pageSize), s.Ask},
		{"wal_autocheckpoint", "500", s.Ask},
		{"busy_timeout", "5000", s.Ask},
		{"query_only", "1", s.AskReader},
		{"busy_timeout", "5000", s.AskReader},
	} {
		got, err := row.ask(t.Context(), "PRAGMA "+row.pragma)
		must(t, err)
		want(t, row.pragma, got, row.want)
	}
}

// Opening any file gives a store or an error that leaves the file alone.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	must(f, err)
	must(f, s.Close(context.Background()))
	whole := read(f, path)
	f.Add([]byte{})
	f.Add([]byte("SQLite format 3\x00"))
	f.Add(whole[:100])
	f.Add(whole[:pageSize])
	f.Add(whole)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "store.db")
		must(t, os.WriteFile(path, data, 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err == nil {
			// Other damage may be an error of a later call.
			s.Ports().Log.Events(ctx, "acme", 0, 1)
			s.Close(ctx)
			return
		}
		if !bytes.Equal(read(t, path), data) {
			t.Errorf("refused with %v, yet changed", err)
		}
	})
}

// Open waits for another program that has locked the file, until its context ends.
func TestOpenWaitsForALock(t *testing.T) {
	path := newFile(t)
	other := raw(t, path)
	run(t, other, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := sqlite.Open(ctx, path, sqlite.Options{})
	wantErr(t, err, context.DeadlineExceeded)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("answered after %v, want soon after the 50 ms of the context", took)
	}
	opened := background(func() error {
		s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
		if err == nil {
			err = s.Close(context.Background())
		}
		return err
	})
	run(t, other, "COMMIT")
	must(t, <-opened)
}

// Damage that Open does not look for is ErrCorrupt of the call that meets it.
func TestDamageFoundLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := worked(t, path)
	root, err := s.Ask(t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name = 'events'")
	must(t, err)
	closed(t, s)
	page, err := strconv.Atoi(root)
	must(t, err)
	data := read(t, path)
	for i := range pageSize {
		data[(page-1)*pageSize+i] = 0xa5
	}
	must(t, os.WriteFile(path, data, 0o600))
	s, _ = openAt(t, path, sqlite.Options{})
	_, err = s.Ports().Log.Events(t.Context(), "acme", 0, 1)
	wantErr(t, err, sqlite.ErrCorrupt)
	err = s.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Events: newEvents(acme, "new")}})
	wantErr(t, err, sqlite.ErrCorrupt)
}
