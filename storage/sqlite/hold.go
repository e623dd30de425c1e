package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	result "modernc.org/sqlite/lib"
)

// lockSuffix is the suffix of the lock file, which a Store locks while it is open. The file is an
// empty database, because SQLite's locks work the same on all systems and end with the process.
const lockSuffix = "-lock"

// holdPause is the pause between two attempts of Open to get the lock.
const holdPause = 50 * time.Millisecond

// takeHold locks the lock file of the store at path, and returns the connection that has the lock.
// While another Store has the lock, takeHold waits until ctx ends, and logs once that it waits.
func takeHold(ctx context.Context, path string, logger *slog.Logger) (*sql.DB, error) {
	db, err := sql.Open("sqlite", address(path+lockSuffix, url.Values{"mode": {"rwc"}, "_pragma": {"busy_timeout(0)"}}))
	if err != nil {
		return nil, wrap(err)
	}
	db.SetMaxOpenConns(1)
	for waits := false; ; waits = true {
		_, err := db.ExecContext(ctx, "BEGIN EXCLUSIVE")
		if err == nil {
			return db, nil
		}
		if waits && ctx.Err() != nil {
			db.Close()
			return nil, fmt.Errorf("%w: %w", ErrInUse, ctx.Err())
		}
		if !hasCode(err, result.SQLITE_BUSY) {
			db.Close()
			return nil, wrap(err)
		}
		if !waits {
			logger.Warn("sqlite: waiting until the process that has the file open ends", "file", path)
		}
		select {
		case <-ctx.Done():
		case <-time.After(holdPause):
		}
	}
}
