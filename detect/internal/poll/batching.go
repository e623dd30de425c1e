package poll

import (
	"fmt"

	"github.com/streamwatch/streamwatch/fetcher"
)

// MaxBatch is the highest number of accounts in one call.
const MaxBatch = 1000

// defaultBatch is how many accounts are read in one call by a BatchFetcher without a method
// BatchLimit.
const defaultBatch = 20

// Batching returns the default and the highest number of accounts in one call. b is nil if
// calls are not shared.
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

// batchLimiter is a BatchFetcher with a limit on the accounts of one call.
type batchLimiter interface{ BatchLimit() int }

// CheckLimits returns an error for a role with a limit below one account per call.
func CheckLimits(r fetcher.Roles) error {
	if l, ok := r.Batch.(batchLimiter); ok && l.BatchLimit() < 1 {
		return fmt.Errorf("detect: Roles.Batch: BatchLimit() %d is not allowed: want at least 1", l.BatchLimit())
	}
	if r.Probe != nil && r.Probe.ProbeLimit() < 1 {
		return fmt.Errorf("detect: Roles.Probe: ProbeLimit() %d is not allowed: want at least 1", r.Probe.ProbeLimit())
	}
	return nil
}
