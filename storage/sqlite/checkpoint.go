package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"
)

// SQLite copies the log into the file every 4 MiB, also during reads, but restarts the log from
// its beginning only when no read uses it. With overlapping reads that moment may never come.
// The writer therefore empties the log itself once it reaches logLimit, and tries again after
// each further logStep.
const (
	logLimit = 32 << 20 // bytes
	logStep  = 16 << 20
)

// checkpointWait is how long writes wait for the reads that use the log. They do not wait for
// reads that begin later, because those use the file only.
const checkpointWait = 100 * time.Millisecond

// shorten empties the log when it has become too large.
func (w *writer) shorten() {
	info, err := os.Stat(w.path + "-wal")
	if err != nil {
		return
	}
	if info.Size() < w.logBound-logStep { // SQLite has truncated it since
		w.logBound, w.blocked = logLimit, false
	}
	if info.Size() < w.logBound {
		return
	}
	busy, err := w.checkpoint()
	if err == nil && !busy {
		w.logBound, w.blocked = logLimit, false
		return
	}
	w.logBound = info.Size() + logStep
	switch {
	case err != nil:
		w.logger.Warn("sqlite: emptying the log beside the file failed", "bytes", info.Size(), "error", err)
	case !w.blocked:
		w.blocked = true
		w.logger.Warn("sqlite: the log beside the file grows: a read goes on for long", "bytes", info.Size())
	}
}

// checkpoint copies the whole log into the file and empties the log. If reads prevent that, busy
// is true and err nil.
func (w *writer) checkpoint() (busy bool, err error) {
	ctx := context.Background()
	if err := setTimeout(ctx, w.conn, checkpointWait); err != nil {
		return false, wrap(err)
	}
	var frames, copied int
	err = w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied)
	if err := setTimeout(ctx, w.conn, askEvery); err != nil {
		w.disconnect()
		return false, wrap(err)
	}
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", wrap(err))
	}
	return busy, nil
}
