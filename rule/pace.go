package rule

import (
	"sync"
	"time"
)

// paces caches how often schedules come due. The price of a rule depends on this
// and is needed every minute; computing it takes a hundred steps of the schedule.
type paces struct {
	mu    sync.Mutex
	day   time.Time
	every map[string]time.Duration // by schedule
}

// maxPaces bounds the schedules that are cached, 256 bytes each at most.
const maxPaces = 10_000

// Every returns the interval by which a rule is priced: its Interval, or for a rule
// with a Schedule the shortest time between two polls (see Schedule.Every), counted
// from the start of the day in UTC, so that it is the same all day. It is 0 for a
// schedule that cannot be parsed.
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

// get returns what is cached of a schedule for the day of now.
func (p *paces) get(text string, now time.Time) (every time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.day.Equal(day(now)) {
		return 0, false
	}
	every, ok = p.every[text]
	return every, ok
}

// add returns, and caches, how often a schedule comes due on the day of now. s is nil
// for a text that is not a schedule.
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
