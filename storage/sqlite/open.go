package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	result "modernc.org/sqlite/lib"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

const (
	readers     = 4               // connections in each of the two pools for reads
	busyTimeout = 5 * time.Second // how long a connection waits for the lock of another program
)

// writerPragmas set up the connection that writes. A page of 8 KiB has room for about five events;
// one of 4 KiB has room for two, and a quarter of it is wasted. The data for undoing a call stays
// in memory, because it is no larger than the call's writes. The cache has 16 MiB. SQLite copies
// the log into the file every 4 MiB (500 pages), and writes wait for that. Copying more at a time
// would save little, because most pages are new.
var writerPragmas = []string{
	fmt.Sprintf("journal_size_limit(%d)", logLimit),
	"page_size(8192)", "temp_store(MEMORY)", "cache_size(-16384)", "wal_autocheckpoint(500)",
}

// synchronous is FULL, which makes every COMMIT sync the log. It is a variable for tests that do
// not depend on syncs: they turn them off to save time.
var synchronous = "FULL"

// Open opens the store in the file at path. If the file is missing or empty, Open creates a store
// that only its owner can read. The directory must exist. Open refuses other files with ErrForeign,
// ErrCorrupt or ErrVersion, and does not change them. While another Store has the file open, Open
// waits until ctx ends. The end of ctx does not affect the opened store.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := openStore(ctx, path, opts.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, path)
	}
	return s, nil
}

func openStore(ctx context.Context, path string, opts Options) (_ *Store, err error) {
	if path, err = realPath(path); err != nil {
		return nil, wrap(err)
	}
	file, err := inUse.enter(path, func() error { return inspect(ctx, path) })
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, file: file, opts: opts}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.disconnect())
		}
	}()
	if !opts.Admin {
		if s.hold, err = takeHold(ctx, path, opts.Logger); err != nil {
			return nil, err
		}
	}
	s.cut, s.cutNow = context.WithCancel(context.Background())
	if s.writes, err = connect(path, file, 1, append([]string{"synchronous(" + synchronous + ")"}, writerPragmas...)...); err != nil {
		return nil, err
	}
	// Keep no idle connection. When the writer drops a broken connection, it must not get it again.
	s.writes.SetMaxIdleConns(-1)
	if s.reads, err = connect(path, file, readers, "query_only(1)"); err != nil {
		return nil, err
	}
	if s.searches, err = connect(path, file, readers, "query_only(1)"); err != nil {
		return nil, err
	}
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	err = waitTurn(ctx, conn, func() error { return prepareFile(ctx, conn) })
	if err == nil {
		err = setTimeout(ctx, conn, askEvery)
	}
	if err != nil {
		conn.Close()
		return nil, wrap(err)
	}
	s.w = newWriter(s.writes, conn, path, s.opts.Logger, retention{opts: s.opts})
	go s.w.run()
	return s, nil
}

// realPath resolves symbolic links, because SQLite puts its other files next to the file, not next
// to the link. It returns the path of a missing file unchanged.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	to, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return to, err
}

// waitTurn calls do, and repeats that for up to busyTimeout while another program has the file
// locked. Unlike SQLite's own wait, it stops when the context ends.
func waitTurn(ctx context.Context, conn *sql.Conn, do func() error) error {
	if err := setTimeout(ctx, conn, 0); err != nil {
		return err
	}
	const pause = 5 * time.Millisecond
	for left := busyTimeout; ; left -= pause {
		err := do()
		if left <= 0 || !hasCode(err, result.SQLITE_BUSY) {
			return errors.Join(err, setTimeout(ctx, conn, busyTimeout))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// setTimeout sets how long a connection waits for the locks of other connections.
func setTimeout(ctx context.Context, conn *sql.Conn, d time.Duration) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
	return err
}

// connect returns a pool of connections to the file. The pool opens them when they are needed.
func connect(path string, file *file, size int, pragmas ...string) (*sql.DB, error) {
	c, err := driver.NewConnector(address(path, url.Values{
		"mode":    {"rw"}, // only Open creates the file
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...),
	}))
	if err != nil {
		return nil, wrap(err)
	}
	db := sql.OpenDB(connector{c, path, file})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// address returns the SQLite URI for a path, which may contain any characters.
func address(path string, q url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// prepareFile creates the schema, then turns on write-ahead logging. This order puts the
// application id and the version into the file, not the log, because inspect reads them without
// SQLite.
func prepareFile(ctx context.Context, conn *sql.Conn) error {
	if err := makeSchema(ctx, conn); err != nil {
		return err
	}
	crashpoint.Hit("sqlite.schema.committed")
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("journal mode %q is not allowed: want a file system that can do wal", mode)
	}
	return nil
}

// makeSchema creates the schema in an empty file.
func makeSchema(ctx context.Context, conn *sql.Conn) (err error) {
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
	if version != 0 {
		if err := checkVersion(version); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, "COMMIT") // nothing was written
		return err
	}
	if _, err := conn.ExecContext(ctx, schema+views); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	crashpoint.Hit("sqlite.schema.script")
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", applicationID, schemaVersion))
	return err
}

// wrap adds the package's name to an error. It also wraps ErrCorrupt if the error means damage.
func wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrVersion), errors.Is(err, ErrCorrupt):
		return err
	case hasCode(err, result.SQLITE_CORRUPT, result.SQLITE_NOTADB):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return fmt.Errorf("sqlite: %w", err)
}

// hasCode reports whether an error is SQLite's and has one of these primary result codes. They are
// the lowest 8 bits of its extended codes.
func hasCode(err error, codes ...int) bool {
	var e *driver.Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code()&0xff)
}

// createFile creates an empty file that only its owner can read, because the store contains
// secrets. SQLite gives its other files the same mode.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return wrap(err)
	}
	return wrap(f.Close())
}
