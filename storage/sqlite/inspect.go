package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
)

// The database header: https://sqlite.org/fileformat.html#the_database_header
const (
	headerSize  = 100
	headerMagic = "SQLite format 3\x00"
	atVersion   = 60 // PRAGMA user_version, 4 bytes
	atAppID     = 68 // PRAGMA application_id, 4 bytes
)

// inspect refuses a file that is not a store. It does so before SQLite opens the file, because
// SQLite would apply a log next to it to any file. It creates the file if there is none, and
// accepts an empty file.
func inspect(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createFile(path); !errors.Is(err, fs.ErrExist) {
			return err
		}
		f, err = os.Open(path) // another process has just created it
	}
	if err != nil {
		return wrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return wrap(err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: no regular file", ErrForeign)
	}
	if info.Size() == 0 {
		return wrap(os.Chmod(path, 0o600)) // the mode that createFile sets
	}
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(f, header); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return wrap(err)
	}
	if err := checkHeader(header); err != nil {
		return err
	}
	if notEmpty(path + "-wal") {
		return checkPages(ctx, path)
	}
	return nil
}

// checkHeader checks the first bytes of a file. It need not notice a truncated file: SQLite refuses
// that before it writes.
func checkHeader(header []byte) error {
	if !strings.HasPrefix(string(header), headerMagic) {
		return fmt.Errorf("%w: no SQLite database", ErrForeign)
	}
	if id := binary.BigEndian.Uint32(header[atAppID:]); id != applicationID {
		return fmt.Errorf("%w: application id %#x, want %#x", ErrForeign, id, applicationID)
	}
	return checkVersion(int(binary.BigEndian.Uint32(header[atVersion:])))
}

// checkVersion refuses a schema that this package does not know.
func checkVersion(version int) error {
	if version == schemaVersion {
		return nil
	}
	return fmt.Errorf("%w: schema version %d, want %d: use the version that wrote the file, or move it away, and a new one is made in its place", ErrVersion, version, schemaVersion)
}

// checked lists the tables that Open checks if the file was not closed. They are small, and their
// rows cannot be restored from elsewhere. The other tables may have gigabytes, too much to check at
// each restart. Damage in them shows when it is read.
var checked = []string{"records", "record_sums", "gone", "state", "owners", "reservations"}

// checkPages checks a file together with its log. It uses a read-only connection, and changes
// neither.
func checkPages(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", address(path, url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}}))
	if err != nil {
		return wrap(err)
	}
	defer db.Close()
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return wrap(err)
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	for _, table := range checked {
		var found string
		if err := db.QueryRowContext(ctx, "PRAGMA quick_check("+table+")").Scan(&found); err != nil {
			return wrap(err)
		}
		if found != "ok" {
			return fmt.Errorf("%w: table %s: %s", ErrCorrupt, table, found)
		}
	}
	return nil
}

func notEmpty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}
