package redisstore

import (
	"time"

	"github.com/streamwatch/streamwatch/detect"
)

// removalStep is how many things of each kind a call that writes removes at least
// of what is too old or too much, beside as many as it adds: enough to catch up,
// too little to be felt by a caller.
const removalStep = 64

// appendLimits adds the limits of retention, as lua/removal.lua has them.
func (s *Store) appendLimits(words []any, now time.Time) []any {
	return append(words,
		stamp(now.Add(-s.opts.Retention)), stamp(now.Add(-s.opts.IDRetention)), stamp(now.Add(-s.opts.EntryRetention)),
		s.opts.MaxEvents, s.opts.MaxEventIDs, s.opts.MaxEntries, removalStep)
}

// removalShare is the part of MaxEvents that commits may add before old events are
// removed: a store has never more than a thousandth too many for that.
const removalShare = 1024

// removeAfter is how many old events this commit removes: none, or, once commits have
// added removalStep events or that share of MaxEvents, at least removalStep and twice as
// many as they added. A commit counts as one event at least.
func (s *Store) removeAfter(batches []*detect.Batch) int {
	events := 0
	for _, b := range batches {
		events += len(b.Events)
	}
	added := s.added.Add(int64(max(events, 1)))
	if added < int64(min(removalStep, s.opts.MaxEvents/removalShare)) {
		return 0
	}
	s.added.Add(-added)
	return removalStep + 2*int(added)
}
