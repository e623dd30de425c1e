package redisstore

import (
	"log/slog"
	"sync/atomic"
)

// Stats counts failures that the store has recovered from since it was opened.
type Stats struct {
	// Retries is the number of attempts of calls beyond the first.
	Retries int64
	// Mixups is the number of answers that belonged to another call and were discarded.
	Mixups int64
	// Lost is the number of queued deliveries without a record, because another program has removed
	// data of this store. Each was removed from the queue and logged to Options.Logger.
	Lost int64
}

// Stats returns the current counts. It may be called at any time, even after Close.
func (s *Store) Stats() Stats {
	return Stats{Retries: s.stats.retries.Load(), Mixups: s.stats.mixups.Load(), Lost: s.stats.lost.Load()}
}

// stats has the counts of Stats. failing is true while the last attempt of any call has failed. It
// limits the log to the first failure and the recovery.
type stats struct {
	retries, mixups, lost atomic.Int64
	failing               atomic.Bool
}

func (st *stats) fail(logger *slog.Logger, err error) {
	if !st.failing.Swap(true) {
		logger.Warn("redis does not answer, trying again", "error", err)
	}
}

func (st *stats) recover(logger *slog.Logger) {
	if st.failing.Load() && st.failing.Swap(false) {
		logger.Info("redis answers again")
	}
}
