package sqlite

import (
	"context"
	"database/sql"
	"net/url"
	"os"

	result "modernc.org/sqlite/lib"
)

// InUse reports whether a Store, or another program on this machine, has the file at path
// open and has read or written it since: from then on it keeps a lock that shuts out those
// who want the file for themselves. It refuses the files that Open refuses, and makes
// none. The answer holds for the moment of the call.
func InUse(ctx context.Context, path string) (bool, error) {
	path, err := realPath(path)
	if err != nil {
		return false, wrap(err)
	}
	if _, err := os.Stat(path); err != nil {
		return false, wrap(err)
	}
	file, err := inUse.enter(path, func() error { return inspect(ctx, path) })
	if err != nil {
		return false, err
	}
	defer inUse.leave(file)
	db, err := sql.Open("sqlite", address(path, url.Values{"mode": {"rw"}, "_pragma": {"locking_mode(EXCLUSIVE)"}}))
	if err != nil {
		return false, wrap(err)
	}
	defer db.Close()
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	if hasCode(err, result.SQLITE_BUSY) {
		return true, nil
	}
	return false, wrap(err)
}
