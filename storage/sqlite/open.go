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
	"sync"
	"time"

	driver "modernc.org/sqlite"
	result "modernc.org/sqlite/lib"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
	"github.com/streamwatch/streamwatch/storage/internal/calls"
	"github.com/streamwatch/streamwatch/storage/internal/sqlstore"
)

const (
	readers     = 4               // connections in each of the two pools for reads
	busyTimeout = 5 * time.Second // how long a connection waits for the lock of another program
)

// writerPragmas set up the connection that writes. A page of 8 KiB has room for about five events;
// one of 4 KiB has room for two, and a quarter of it is wasted. The data for undoing a call stays
// in memory, because it is no larger than the call's writes. The cache has 16 MiB. SQLite copies
// the log into the file every 4 MiB (500 pages), and writes wait for that. Copying more at a time
// would save little, because most pages are new. The log grows only while a long read uses it; the
// first transaction after that begins again at its start, and cuts it to 32 MiB.
var writerPragmas = []string{
	"journal_size_limit(33554432)",
	"page_size(8192)", "temp_store(MEMORY)", "cache_size(-16384)", "wal_autocheckpoint(500)",
}

// synchronous is FULL, which makes every COMMIT sync the log. It is a variable for tests that do
// not depend on syncs: they turn them off to save time.
var synchronous = "FULL"

// Open opens the store in the file at path. If the file is missing or empty, Open creates a store
// that only its owner can read. The directory must exist. Open refuses other files with ErrForeign,
// ErrCorrupt or ErrVersion, and writes nothing to them. While another Store has the file open, Open
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
	if err := makeFile(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, opts: opts, calls: calls.New(ErrClosed)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.disconnect())
		}
	}()
	if s.writes, err = connect(path, 1, append([]string{"synchronous(" + synchronous + ")"}, writerPragmas...)...); err != nil {
		return nil, err
	}
	// Keep no idle connection. When the writer drops a broken connection, it must not get it again.
	s.writes.SetMaxIdleConns(-1)
	if s.reads, err = connect(path, readers, "query_only(1)"); err != nil {
		return nil, err
	}
	if s.searches, err = connect(path, readers, "query_only(1)"); err != nil {
		return nil, err
	}
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	s.roles = &sqlstore.Store{Backend: backend{s}, Dialect: dialect, Name: "sqlite", Now: opts.Now, Retention: opts.Retention}
	if opts.Admin {
		s.roles.Refuse = ErrAdmin
	}
	removal := &sqlstore.Removal{Store: s.roles, IDRetention: opts.IDRetention, EntryRetention: opts.EntryRetention,
		MaxEvents: opts.MaxEvents, MaxEventIDs: opts.MaxEventIDs, MaxEntries: opts.MaxEntries,
		Few: min(4*sqlstore.RemoveStep, opts.MaxEvents/100, opts.MaxEventIDs/100, opts.MaxEntries/100)}
	if err = s.prepare(ctx, conn, removal); err != nil {
		conn.Close()
		return nil, err
	}
	err = look(ctx, s.reads, func(q sqlstore.Querier) (err error) {
		s.roles.DeliveryEpoch, err = deliveryEpoch(q)
		return err
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	file, err := os.Stat(path)
	if err != nil {
		conn.Close()
		return nil, wrap(err)
	}
	s.w = newWriter(s.writes, conn, s.opts.Logger, removal)
	s.w.path, s.w.file = path, file
	go s.w.run()
	return s, nil
}

// prepare refuses a foreign file, waits until no other Store has the file, and creates the schema in
// an empty one.
func (s *Store) prepare(ctx context.Context, conn *sql.Conn, removal *sqlstore.Removal) (err error) {
	if err = checkFile(ctx, conn); err == errUnfinished && s.opts.target {
		s.unfinished, err = true, nil
	} else if err == errEmpty {
		removal.Next = s.opts.Now().Add(time.Second) // an empty store has nothing to remove
		err = os.Chmod(s.path, 0o600)                // the mode that createFile sets
	}
	if err != nil {
		return wrap(err)
	}
	if !s.opts.Admin {
		if s.hold, err = takeHold(ctx, s.path, s.opts.Logger); err != nil {
			return err
		}
	}
	if !s.unfinished {
		if err := makeSchema(ctx, conn); err != nil {
			return wrap(err)
		}
	}
	crashpoint.Hit("sqlite.schema.committed")
	// SQLite does not wait for this lock: another program may be opening the new file, too.
	var mode string
	err = conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	for end := time.Now().Add(busyTimeout); hasCode(err, result.SQLITE_BUSY) && time.Now().Before(end) && ctx.Err() == nil; {
		time.Sleep(5 * time.Millisecond)
		err = conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	}
	if err != nil {
		return wrap(err)
	}
	if mode != "wal" {
		return fmt.Errorf("sqlite: journal mode %q is not allowed: want a file system that can do wal", mode)
	}
	return nil
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

// makeFile creates an empty file if there is none.
func makeFile(path string) error {
	if err := createFile(path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkRegular(path)
}

// checkRegular refuses a directory.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: no regular file", ErrForeign)
	}
	return wrap(err)
}

// errEmpty is the error of checkFile for a file without a schema.
var errEmpty = fmt.Errorf("%w: it is empty", ErrForeign)

// checkFile refuses a file that is not a store of this version.
func checkFile(ctx context.Context, conn interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) error {
	var id, version, tables int
	err := conn.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return wrap(err)
	case id == 0 && version == 0 && tables == 0:
		return errEmpty
	case id != applicationID:
		return fmt.Errorf("%w: application id %#x, want %#x", ErrForeign, id, applicationID)
	case version == -schemaVersion:
		return errUnfinished
	case version != schemaVersion:
		return fmt.Errorf("%w: schema version %d, want %d: use the version that wrote the file, or move it away, and a new one is made in its place", ErrVersion, version, schemaVersion)
	}
	return nil
}

// connect returns a pool of connections to the file. The pool opens them when they are needed.
func connect(path string, size int, pragmas ...string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", address(path, url.Values{
		"mode":    {"rw"}, // only Open creates the file
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...),
	}))
	if err != nil {
		return nil, wrap(err)
	}
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

// makeSchema creates the schema in an empty file, and what a file of an earlier program has not.
func makeSchema(ctx context.Context, conn *sql.Conn) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	if err := checkFile(ctx, conn); err != errEmpty {
		if err == nil {
			_, err = conn.ExecContext(ctx, later+"\nCOMMIT")
		}
		return err
	}
	if _, err := conn.ExecContext(ctx, schema+views); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	crashpoint.Hit("sqlite.schema.script")
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", applicationID, schemaVersion))
	return err
}

// wrap adds the package's name to an error. It also wraps ErrForeign or ErrCorrupt if that is what
// SQLite means.
func wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrForeign), errors.Is(err, ErrVersion), errors.Is(err, ErrCorrupt), errors.Is(err, ErrInUse), errors.Is(err, ErrClosed):
		return err
	case hasCode(err, result.SQLITE_NOTADB):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case hasCode(err, result.SQLITE_CORRUPT):
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

// creating makes the Opens of a process wait until createFile has closed the new file: that releases
// all POSIX locks that the process has on it, also SQLite's (https://sqlite.org/howtocorrupt.html).
var creating sync.Mutex

// createFile creates an empty file that only its owner can read, because the store contains
// secrets. SQLite gives its other files the same mode.
func createFile(path string) error {
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return wrap(err)
	}
	return wrap(f.Close())
}
