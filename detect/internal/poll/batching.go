package poll

import "github.com/streamwatch/streamwatch/fetcher"

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
	if l, ok := b.(interface{ BatchLimit() int }); ok {
		size = max(1, min(l.BatchLimit(), MaxBatch))
		return size, size
	}
	return defaultBatch, MaxBatch
}
