package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	result "modernc.org/sqlite/lib"

	"github.com/streamwatch/streamwatch/storage/internal/crashpoint"
)

// Reading connections, and how long one that writes waits for another program.
const (
	readers     = 4
	busyTimeout = 5000 // milliseconds
)

// writerPragmas set up the connection that writes. What undoes a call or
// statement stays in memory: it is no larger than what the call writes. The
// pages of a random index are changed again and again, so that many of them are
// kept (16 MiB), and copied from the log into the file not before it has 16 MiB.
var writerPragmas = []string{
	"synchronous(FULL)", "journal_size_limit(67108864)",
	"temp_store(MEMORY)", "cache_size(-16384)", "wal_autocheckpoint(4096)",
}

// Open opens the store in the file at path and makes the file, readable by its
// owner only, when there is none; the directory must exist. A file that is not
// this package's, is damaged or was written by a newer version is refused with
// ErrForeign, ErrCorrupt or ErrNewer and left as it is. Of one that was not
// closed, as after a crash, the tables that hold what was created and the
// balances are checked first. The context bounds the opening, not the store.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, wrap(err)
	}
	if err := inspect(ctx, path); err != nil {
		return nil, fmt.Errorf("%w: %s", err, path)
	}
	s := &Store{path: path, opts: opts.withDefaults()}
	s.cut, s.cutNow = context.WithCancel(context.Background())
	if s.writes, err = connect(path, 1, writerPragmas...); err != nil {
		return nil, err
	}
	if s.reads, err = connect(path, readers, "query_only(1)"); err != nil {
		return nil, errors.Join(err, s.writes.Close())
	}
	// Kept idle, the writer's connection would outlive being given up as broken.
	s.writes.SetMaxIdleConns(-1)
	conn, err := s.writes.Conn(ctx)
	if err == nil {
		err = prepareFile(ctx, conn, migrations)
	}
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, errors.Join(fmt.Errorf("%w: %s", classify(err), path), s.reads.Close(), s.writes.Close())
	}
	s.w = newWriter(s.writes, conn, s.opts.Logger, s)
	go s.w.run()
	return s, nil
}

// connect makes a pool for the file; it opens nothing yet.
func connect(path string, size int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout)}, pragmas...)}
	db, err := sql.Open("sqlite", address(path, q))
	if err != nil {
		return nil, wrap(err)
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// address is a path as an SQLite URI, whatever characters it has.
func address(path string, q url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// prepareFile brings the file to the newest schema and to write-ahead logging.
// The mark and the schema come in one transaction before that, so that they are
// in the file itself: inspect reads them without SQLite.
func prepareFile(ctx context.Context, conn *sql.Conn, scripts []string) error {
	if err := migrate(ctx, conn, scripts); err != nil {
		return err
	}
	crashpoint.Hit("sqlite.schema.committed")
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("sqlite: journal mode %q is not allowed: want a file system that can do wal", mode)
	}
	return nil
}

// migrate applies the scripts that the file has not seen, all or none.
func migrate(ctx context.Context, conn *sql.Conn, scripts []string) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(scripts) {
		return ErrNewer
	}
	if version == len(scripts) {
		_, err := conn.ExecContext(ctx, "COMMIT") // nothing was written
		return err
	}
	for _, script := range scripts[version:] {
		if _, err := conn.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("sqlite: schema version %d: %w", version+1, err)
		}
		version++
		crashpoint.Hit("sqlite.schema.script")
	}
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", applicationID, version)
	_, err = conn.ExecContext(ctx, mark)
	return err
}

// classify names damage for what it is.
func classify(err error) error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff { // the rest says more of the same
	case result.SQLITE_CORRUPT, result.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return wrap(err)
}

// createFile makes an empty file: it will hold secrets, so the mode is set
// before there is anything in it, and SQLite gives it to the files beside it.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return wrap(err)
	}
	return wrap(f.Close())
}
