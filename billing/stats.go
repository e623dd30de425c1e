package billing

import "sync"

// Stats has a Meter's counters since its creation, and the numbers of streams at its latest tick.
type Stats struct {
	// Charged is the sum of charges for streams. If several Meters share a store, each
	// counts all charges.
	Charged Credits
	Refused int64 // changes for which Insufficient was called
	Paused  int64 // streams paused for lack of credits
	Resumed int64 // streams resumed when credits covered them again
	Failed  int64 // ticks that failed to make all charges

	Running int64 // streams that are active now
	Waiting int64 // streams that are paused for lack of credits now
}

// Stats returns all counters as of the same moment.
func (m *Meter) Stats() Stats {
	m.count.mu.Lock()
	defer m.count.mu.Unlock()
	return m.count.stats
}

// counts is a Stats with its lock.
type counts struct {
	mu    sync.Mutex
	stats Stats
}

func (c *counts) add(change func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

// tick counts a tick that ended with err.
func (c *counts) tick(err error) {
	if err != nil {
		c.add(func(s *Stats) { s.Failed++ })
	}
}
