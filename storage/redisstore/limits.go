package redisstore

import (
	"time"

	"github.com/streamwatch/streamwatch/detect"
)

// removalStep is part of the maximum number of old records of each kind that a writing call
// removes: removalStep plus twice as many as it adds. That is enough to catch up, and too few to
// slow the call down.
const removalStep = 64

// appendLimits appends the retention limits that lua/removal.lua reads.
func (s *Store) appendLimits(args []any, now time.Time) []any {
	return append(args,
		stamp(now.Add(-s.opts.Retention)), stamp(now.Add(-s.opts.IDRetention)), stamp(now.Add(-s.opts.EntryRetention)),
		s.opts.MaxEvents, s.opts.MaxEventIDs, s.opts.MaxEntries, removalStep)
}

// removalShare limits how many events commits add before old ones are removed. Thus a store has at
// most MaxEvents/removalShare events too many, or removalStep if that is less.
const removalShare = 1024

// removeAfter returns the maximum number of old events that this commit removes. It is 0 until
// commits have added removalStep events or MaxEvents/removalShare, whichever is less. Then it is
// removalStep plus twice the number added. A commit counts as at least one event.
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
