package poll

import (
	"fmt"

	"github.com/streamwatch/streamwatch/fetcher"
)

// MaxBatch is the most accounts in one call.
const MaxBatch = 1000

// defaultBatch is how many accounts go in one call when a BatchFetcher does
// not tell its limit.
const defaultBatch = 20

// Batching returns how many accounts are read in one call by default, and at
// most. b is nil where calls are not shared.
func Batching(b fetcher.BatchFetcher) (size, limit int) {
	if b == nil {
		return 1, 1
	}
	if l, ok := b.(batchLimiter); ok {
		size = max(1, min(l.BatchLimit(), MaxBatch))
		return size, size
	}
	return defaultBatch, MaxBatch
}

// batchLimiter is a BatchFetcher that says how many accounts a call takes.
type batchLimiter interface{ BatchLimit() int }

// CheckLimits returns an error for a role whose calls take no account at all.
func CheckLimits(r fetcher.Roles) error {
	if l, ok := r.Batch.(batchLimiter); ok && l.BatchLimit() < 1 {
		return fmt.Errorf("detect: Roles.Batch: BatchLimit() %d is not allowed: want at least 1", l.BatchLimit())
	}
	if r.Probe != nil && r.Probe.ProbeLimit() < 1 {
		return fmt.Errorf("detect: Roles.Probe: ProbeLimit() %d is not allowed: want at least 1", r.Probe.ProbeLimit())
	}
	return nil
}
