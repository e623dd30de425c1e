package billing

import "sync"

// Stats counts what a Meter did since it was made, and has the state at its latest
// tick.
type Stats struct {
	// Charged is what streams were charged. Several Meters on one store count the same
	// minutes.
	Charged Credits
	Refused int64 // times that Covers returned ErrInsufficient
	Paused  int64 // streams paused for lack of credits
	Resumed int64 // streams resumed when credits covered them again
	Failed  int64 // ticks that left charges for a later one

	Running int64 // streams that are charged now
	Waiting int64 // streams that wait for credits now
}

// Stats reads the counters. They are of one moment.
func (m *Meter) Stats() Stats {
	m.count.mu.Lock()
	defer m.count.mu.Unlock()
	return m.count.stats
}

// counts is the live form of Stats.
type counts struct {
	mu    sync.Mutex
	stats Stats
}

func (c *counts) add(change func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

// tick counts a tick that has ended.
func (c *counts) tick(err error) {
	if err != nil {
		c.add(func(s *Stats) { s.Failed++ })
	}
}
