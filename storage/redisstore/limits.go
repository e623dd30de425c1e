package redisstore

import "github.com/streamwatch/streamwatch/detect"

// tidyStep is how many things of each kind a call that writes removes at least
// of what is too old or too much, beside as many as it adds: enough to catch up,
// too little to be felt by a caller.
const tidyStep = 64

// appendLimits adds what lua/now.lua and lua/limits.lua read.
func (s *Store) appendLimits(words []any, sc *script) []any {
	if !sc.clock {
		return words
	}
	now := s.opts.Now()
	words = append(words, stamp(now))
	if !sc.limits {
		return words
	}
	return append(words,
		stamp(now.Add(-s.opts.Retention)), stamp(now.Add(-s.opts.IDRetention)), stamp(now.Add(-s.opts.EntryRetention)),
		s.opts.MaxEvents, s.opts.MaxEventIDs, s.opts.MaxEntries, tidyStep)
}

// tidyShare is the part of MaxEvents that commits may add before one removes: so
// there are never more than a thousandth too many for that.
const tidyShare = 1024

// removeAfter is how many events this commit removes of what is too old or too
// much: none, or, once commits have added tidyStep or tidyShare, at least tidyStep
// and twice as many as they added. A commit counts as one event at least.
func (s *Store) removeAfter(batches []*detect.Batch) int {
	events := 0
	for _, b := range batches {
		events += len(b.Events)
	}
	added := s.added.Add(int64(max(events, 1)))
	if added < int64(min(tidyStep, s.opts.MaxEvents/tidyShare)) {
		return 0
	}
	s.added.Add(-added)
	return tidyStep + 2*int(added)
}
