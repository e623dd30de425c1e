package redisstore

// tidyStep is how many things of each kind a call that writes removes at least
// of what is too old or too much, beside as many as it adds: enough to catch up,
// too little to be felt by a caller.
const tidyStep = 64

// appendLimits adds what lua/limits.lua reads.
func (s *Store) appendLimits(words []any) []any {
	now := s.opts.Now()
	return append(words,
		stamp(now), stamp(now.Add(-s.opts.Retention)), stamp(now.Add(-s.opts.IDRetention)), stamp(now.Add(-s.opts.EntryRetention)),
		s.opts.MaxEvents, s.opts.MaxEventIDs, s.opts.MaxEntries, tidyStep)
}
