package redisstore

import (
	"time"

	"github.com/streamwatch/streamwatch/detect"
)

// removalStep is how many old things of each kind a call that writes removes, in addition to
// twice as many as it adds: enough to catch up, and too few to slow the call down.
const removalStep = 64

// appendLimits appends the limits of retention that lua/removal.lua reads.
func (s *Store) appendLimits(args []any, now time.Time) []any {
	return append(args,
		stamp(now.Add(-s.opts.Retention)), stamp(now.Add(-s.opts.IDRetention)), stamp(now.Add(-s.opts.EntryRetention)),
		s.opts.MaxEvents, s.opts.MaxEventIDs, s.opts.MaxEntries, removalStep)
}

// removalShare: commits may add MaxEvents/removalShare events before old ones are removed, if
// that is less than removalStep, so that a store has no more than a thousandth too many.
const removalShare = 1024

// removeAfter returns how many old events this commit is to remove. That is 0 until commits
// have added removalStep events, or that share of MaxEvents; then it is removalStep and twice
// as many as they have added. A commit counts as at least one event.
func (j journal) removeAfter(batches []*detect.Batch) int {
	events := 0
	for _, b := range batches {
		events += len(b.Events)
	}
	added := j.s.added.Add(int64(max(events, 1)))
	if added < int64(min(removalStep, j.s.opts.MaxEvents/removalShare)) {
		return 0
	}
	j.s.added.Add(-added)
	return removalStep + 2*int(added)
}
