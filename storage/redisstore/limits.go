package redisstore

import (
	"time"

	"github.com/streamwatch/streamwatch/detect"
)

// removalStep is the number of old records of each kind that a writing call removes, plus twice
// as many as it adds: enough to catch up, too few to slow the call down.
const removalStep = 64

// appendLimits appends the retention limits that lua/removal.lua reads.
func (s *Store) appendLimits(args []any, now time.Time) []any {
	return append(args,
		stamp(now.Add(-s.opts.Retention)), stamp(now.Add(-s.opts.IDRetention)), stamp(now.Add(-s.opts.EntryRetention)),
		s.opts.MaxEvents, s.opts.MaxEventIDs, s.opts.MaxEntries, removalStep)
}

// removalShare limits how many events commits add before old ones are removed, to
// MaxEvents/removalShare or removalStep, whichever is less: a store has at most a thousandth too
// many.
const removalShare = 1024

// removeAfter returns how many old events this commit may remove. It is 0 until commits have
// added removalStep events or MaxEvents/removalShare, whichever is less; then it is removalStep
// plus twice the number added. A commit counts as at least one event.
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
