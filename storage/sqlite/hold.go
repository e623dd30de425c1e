package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"net/url"

	result "modernc.org/sqlite/lib"
)

// lockSuffix is the suffix of the lock file, which a Store locks while it is open. The file is an
// empty database, because SQLite's locks work the same on all systems and end with the process.
const lockSuffix = "-lock"

// takeHold locks the lock file of the store at path, and returns the connection that has the lock.
// While another Store has the lock, takeHold waits until ctx ends, and logs once that it waits.
func takeHold(ctx context.Context, path string, logger *slog.Logger) (*sql.DB, error) {
	db, err := sql.Open("sqlite", address(path+lockSuffix, url.Values{"mode": {"rwc"}, "_pragma": {"busy_timeout(0)"}}))
	if err != nil {
		return nil, wrap(err)
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE")
	if hasCode(err, result.SQLITE_BUSY) {
		logger.Warn("sqlite: waiting until the process that has the file open ends", "file", path)
		if _, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", math.MaxInt32)); err == nil {
			_, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE") // the end of the context ends the wait
		}
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrInUse, ctx.Err())
		}
	}
	if err != nil {
		db.Close()
		return nil, wrap(err)
	}
	return db, nil
}
