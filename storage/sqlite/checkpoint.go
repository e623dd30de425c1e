package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"
)

// SQLite copies the log into the file every 4 MiB, beside reads, but begins the
// log anew only at a moment when nobody reads from it. When reads overlap there
// may be none; then new ones have to be led past it: at twice that size, and again
// after each further step in case it did not work.
const (
	logLimit = 32 << 20 // bytes
	logStep  = 16 << 20
)

// checkpointWait is how long writes wait for reads that began before. Those that
// begin meanwhile read the file only, and are not waited for.
const checkpointWait = 100 * time.Millisecond

// shorten empties the log when it has grown too large.
func (w *writer) shorten() {
	info, err := os.Stat(w.log)
	if err != nil {
		return
	}
	if info.Size() < w.tolerated-logStep { // SQLite has begun it anew since
		w.tolerated, w.crowded = logLimit, false
	}
	if info.Size() < w.tolerated {
		return
	}
	busy, err := w.checkpoint()
	if err == nil && !busy {
		w.tolerated, w.crowded = logLimit, false
		return
	}
	w.tolerated = info.Size() + logStep
	switch {
	case err != nil:
		w.logger.Warn("the log beside the file cannot be emptied", "bytes", info.Size(), "error", err)
	case !w.crowded:
		w.crowded = true
		w.logger.Warn("the log beside the file grows: a read goes on for long", "bytes", info.Size())
	}
}

// checkpoint copies the whole log into the file and cuts it to nothing. Busy
// means that reads did not let it, which is no error.
func (w *writer) checkpoint() (busy bool, err error) {
	ctx := context.Background()
	if err := setTimeout(ctx, w.conn, checkpointWait); err != nil {
		return false, wrap(err)
	}
	var frames, copied int
	err = w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied)
	if err := setTimeout(ctx, w.conn, busyTimeout); err != nil {
		w.disconnect()
		return false, wrap(err)
	}
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", wrap(err))
	}
	return busy, nil
}
