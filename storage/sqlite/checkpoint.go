package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"
)

// SQLite copies the log into the file every 4 MiB, also during reads. It begins again at the start
// of the log only when no read uses the log. With overlapping reads that moment may never come. The
// writer therefore empties the log itself when it has logLimit bytes, and tries again after every
// further logStep.
const (
	logLimit = 32 << 20 // bytes
	logStep  = 16 << 20
)

// checkpointWait is how long a write waits for the reads that use the log. Reads that begin during
// the wait use only the file, and the write does not wait for them.
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

// checkpoint copies the whole log into the file and empties the log. If reads prevent that, it
// returns true and a nil error.
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
