package rule

import (
	"sync"
	"time"
)

// paces caches how often schedules come due. A rule's price depends on it and is
// needed every minute, and computing it takes a hundred steps.
type paces struct {
	mu    sync.Mutex
	day   time.Time
	every map[string]time.Duration // by schedule
}

// maxPaces bounds the schedules that are remembered, 256 bytes each at most.
const maxPaces = 10_000

// Every is how often a rule is polled at its busiest, by which it is priced: its
// interval, or Schedule.Every from the beginning of the day in UTC on, so that it
// is the same all day. It is 0 for a schedule that cannot be parsed.
func (m *Manager) Every(r Rule) time.Duration {
	if r.Schedule == "" {
		return r.Interval
	}
	now := m.control.Now()
	every, ok := m.paces.get(r.Schedule, now)
	if ok {
		return every
	}
	s, err := ParseSchedule(r.Schedule)
	if err != nil {
		s = nil
	}
	return m.paces.add(r.Schedule, s, now)
}

// get returns what is remembered of a schedule for that day.
func (p *paces) get(text string, now time.Time) (every time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.day.Equal(day(now)) {
		return 0, false
	}
	every, ok = p.every[text]
	return every, ok
}

// add remembers how often a schedule comes that day; s is nil for a text that is
// no schedule.
func (p *paces) add(text string, s *Schedule, now time.Time) (every time.Duration) {
	if every, ok := p.get(text, now); ok {
		return every
	}
	if s != nil {
		every = s.Every(day(now))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.day.Equal(day(now)) || len(p.every) >= maxPaces {
		p.day, p.every = day(now), map[string]time.Duration{}
	}
	p.every[text] = every
	return every
}

func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
