package redisstore

import (
	"log/slog"
	"sync/atomic"
)

// Stats count what went wrong since the store was opened, and was mended.
type Stats struct {
	// Retries are attempts of calls beyond the first.
	Retries int64
	// Mixups are answers that belonged to another call, and were not used.
	Mixups int64
	// Lost are queued deliveries whose records were missing: something else
	// has removed data of this store. Each was taken out of the queue and told
	// to Options.Logger.
	Lost int64
}

// Stats may be called at any time.
func (s *Store) Stats() Stats {
	return Stats{Retries: s.stats.retries.Load(), Mixups: s.stats.mixups.Load(), Lost: s.stats.lost.Load()}
}

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
