package rule

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Schedule has the times at which a rule is polled, by the wall clock. If several times
// pass while the machine sleeps, one poll is made when it wakes up. Times that a shift of the
// zone's clock drops come when they would have come without it; times that it doubles come once.
// A schedule of all 24 hours follows the clock, as in cron(8).
type Schedule struct {
	wall   cron.Schedule // its times are those of the zone's clock, as if in UTC
	zone   *time.Location
	hourly bool // all hours
}

const allHours = 1<<24 - 1

// maxSchedule is the longest cron expression allowed, in bytes.
const maxSchedule = 256

// ParseSchedule parses a cron expression. It has the five fields minute, hour, day of month,
// month and day of week; or is @hourly, @daily, @weekly, @monthly or @yearly; or is @every and a
// duration in whole seconds. Times are in UTC unless expr begins with "CRON_TZ=Area/City ". The
// error is a *FieldError.
func ParseSchedule(expr string) (*Schedule, error) {
	s, allowed := parseSchedule(expr)
	if s == nil {
		return nil, invalid.Field("rule", "schedule", expr, allowed)
	}
	return s, nil
}

// parseSchedule returns the schedule. If expr is not a schedule, s is nil, and allowed describes
// what is allowed.
func parseSchedule(expr string) (s *Schedule, allowed string) {
	if expr == "" || len(expr) > maxSchedule {
		return nil, fmt.Sprintf("a cron expression of 1 to %d bytes", maxSchedule)
	}
	if zone := strings.HasPrefix(expr, "TZ=") || strings.HasPrefix(expr, "CRON_TZ="); zone && !strings.Contains(expr, " ") {
		return nil, "a time zone and a cron expression" // the parser would panic
	}
	parsed, err := cron.ParseStandard(expr)
	if err != nil {
		return nil, "a cron expression of five fields, such as \"*/5 9-17 * * 1-5\": " + err.Error()
	}
	if _, every, _ := strings.Cut(expr, "@every "); every != "" { // the parser would round it to whole seconds
		if d, err := time.ParseDuration(every); err != nil || d < time.Second || d%time.Second != 0 {
			return nil, "@every and whole seconds, 1s or more"
		}
	}
	s = &Schedule{wall: parsed, zone: time.UTC}
	if spec, ok := parsed.(*cron.SpecSchedule); ok {
		if spec.Location != time.Local {
			s.zone = spec.Location
		}
		spec.Location, s.hourly = time.UTC, spec.Hour&allHours == allHours
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, "a cron expression whose time comes within five years"
	}
	return s, ""
}

// Next returns the first time of the schedule after t, in UTC, or the zero time if there
// is none within five years.
func (s *Schedule) Next(t time.Time) time.Time {
	for t = t.Add(1); ; { // from here on, t is the first time that may be next
		from, until := t.In(s.zone).ZoneBounds()
		if !until.IsZero() && !until.After(t) { // on 31 December of leap years: go.dev/issue/81583
			until = t.AddDate(0, 0, 1)
		}
		offset := s.offset(t)
		next := s.first(t, offset)
		if !s.hourly && !from.IsZero() {
			shift := offset - s.offset(from.Add(-1))
			over := from.Add(shift.Abs())
			switch {
			case !t.Before(over):
			case shift < 0: // the clock shows again what it has shown
				next = s.first(over, offset)
			default:
				if dropped := s.first(t, offset-shift); dropped.Before(over) && dropped.Before(next) {
					next = dropped
				}
			}
		}
		if until.IsZero() || next.Before(until) {
			return next
		}
		t = until
	}
}

// first returns the first time of the schedule from t on, in UTC, on a clock with this offset.
func (s *Schedule) first(t time.Time, offset time.Duration) time.Time {
	next := s.wall.Next(t.UTC().Add(offset - 1))
	if next.IsZero() {
		return next
	}
	return next.Add(-offset)
}

// offset returns how far the zone's clock is ahead of UTC at t.
func (s *Schedule) offset(t time.Time) time.Duration {
	_, seconds := t.In(s.zone).Zone()
	return time.Duration(seconds) * time.Second
}

// scheduleSample is the number of intervals that Every compares.
const scheduleSample = 100

// Every returns the shortest of the schedule's first 100 intervals after from, at most 366 days.
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

// paces caches the results of Schedule.Every, which makes a hundred calls of Schedule.Next. The
// prices of rules depend on the results, and are needed every minute.
type paces struct {
	mu    sync.Mutex
	day   time.Time
	every map[string]time.Duration // by schedule
}

// maxPaces is the most schedules that are cached, of at most 256 bytes each.
const maxPaces = 10_000

// Every returns the interval that decides a rule's price. That is its Interval or, for a rule
// with a Schedule, the result of Schedule.Every from the start of the UTC day, so it is the same
// all day. It is 0 for a schedule that cannot be parsed.
func (m *Manager) Every(r Rule) time.Duration {
	if r.Schedule == "" {
		return r.Interval
	}
	now := m.base.Now()
	every, ok := m.paces.get(r.Schedule, now)
	if ok {
		return every
	}
	s, _ := parseSchedule(r.Schedule)
	return m.paces.add(r.Schedule, s, now)
}

// checkPace checks the interval or schedule of a request against Config.MinInterval. Validate and
// ParseSchedule check the limits of all rules. Stored intervals and schedules are not checked,
// because a manager with another Config may have allowed them.
func (m *Manager) checkPace(r *Rule) error {
	every := m.Every(*r)
	switch {
	case r.Schedule != "" && 0 < every && every < m.cfg.MinInterval:
		return invalid.Field("rule", "schedule", r.Schedule,
			fmt.Sprintf("a cron expression whose times are %v s or more apart", m.cfg.MinInterval.Seconds()))
	case r.Schedule == "" && MinInterval <= every && every < m.cfg.MinInterval:
		return invalid.Field("rule", "interval_seconds", fmt.Sprint(every.Seconds()),
			fmt.Sprintf("%v to %v, or a schedule", m.cfg.MinInterval.Seconds(), MaxInterval.Seconds()))
	}
	return nil
}

// get returns the cached interval of a schedule for the UTC day of now.
func (p *paces) get(text string, now time.Time) (every time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.day.Equal(day(now)) {
		return 0, false
	}
	every, ok = p.every[text]
	return every, ok
}

// add returns and caches the interval of a schedule for the UTC day of now. s is nil if
// text is not a schedule.
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
