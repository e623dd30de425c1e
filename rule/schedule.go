package rule

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Schedule says when a rule is polled.
type Schedule struct{ next cron.Schedule }

// maxSchedule bounds a cron expression, in bytes.
const maxSchedule = 256

// ParseSchedule parses a cron expression: the five fields minute, hour, day of
// month, month and day of week; or @hourly, @daily, @weekly, @monthly or @yearly;
// or @every and a duration of whole seconds. Times are in UTC unless it begins with
// "CRON_TZ=Area/City ". The error is a *FieldError.
func ParseSchedule(expr string) (*Schedule, error) {
	refused := func(allowed string) error { return invalid.Field("rule", "schedule", expr, allowed) }
	if expr == "" || len(expr) > maxSchedule {
		return nil, refused(fmt.Sprintf("a cron expression of 1 to %d bytes", maxSchedule))
	}
	if zone := strings.HasPrefix(expr, "TZ=") || strings.HasPrefix(expr, "CRON_TZ="); zone && !strings.Contains(expr, " ") {
		return nil, refused("a time zone and a cron expression") // the parser would panic
	}
	parsed, err := cron.ParseStandard(expr)
	if err != nil {
		return nil, refused("a cron expression of five fields, such as \"*/5 9-17 * * 1-5\": " + err.Error())
	}
	if _, every, _ := strings.Cut(expr, "@every "); every != "" { // the parser would round it up to a second, or down to whole ones
		if d, err := time.ParseDuration(every); err != nil || d < time.Second || d%time.Second != 0 {
			return nil, refused("@every and whole seconds, 1s or more")
		}
	}
	s := &Schedule{next: parsed}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, refused("a cron expression whose time comes within five years")
	}
	return s, nil
}

// Next returns the first time after t, in UTC; zero when none comes within five
// years.
func (s *Schedule) Next(t time.Time) time.Time {
	next := s.next.Next(t.UTC())
	if next.IsZero() {
		return next
	}
	return next.UTC()
}

// scheduleSample is how many intervals of a schedule Every looks at.
const scheduleSample = 100

// Every returns the shortest of the next hundred intervals after from, at most 366
// days.
func (s *Schedule) Every(from time.Time) time.Duration {
	shortest := 366 * 24 * time.Hour
	last := s.Next(from)
	for range scheduleSample {
		next := s.Next(last)
		if next.IsZero() {
			break
		}
		shortest = min(shortest, next.Sub(last))
		last = next
	}
	return shortest
}

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
