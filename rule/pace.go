package rule

import (
	"sync"
	"time"
)

// paces remembers how often schedules come: who charges by it asks each minute
// for each rule, and a schedule takes a hundred steps.
type paces struct {
	mu    sync.Mutex
	day   time.Time
	every map[string]time.Duration // by schedule
}

// maxPaces bounds the schedules that are remembered, 256 bytes each at most.
const maxPaces = 10_000

// Every is how often a rule is polled at its busiest: see Rule.Every, here from
// the beginning of the day in UTC on, so that it is the same all day and worked
// out once. What can not be read is 0.
func (m *Manager) Every(r Rule) time.Duration {
	if r.Schedule == "" {
		return r.Interval
	}
	day := m.cfg.Now().UTC().Truncate(24 * time.Hour)
	p := &m.paces
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.day.Equal(day) || len(p.every) >= maxPaces {
		p.day, p.every = day, map[string]time.Duration{}
	}
	every, ok := p.every[r.Schedule]
	if !ok {
		every = r.Every(day)
		p.every[r.Schedule] = every
	}
	return every
}
