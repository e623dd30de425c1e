package feed

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed/rss"
)

// pauses are a document's requests to be read less often or not at certain times.
type pauses struct {
	ttl   time.Duration
	hours [24]bool // in UTC
	days  [7]bool
}

// readPauses returns the pauses in an RSS document: ttl, in minutes, and skipHours and
// skipDays, in GMT.
func readPauses(f *rss.Feed) (p pauses) {
	n, _ := strconv.Atoi(strings.TrimSpace(f.TTL))
	p.ttl = time.Duration(min(max(n, 0), 1<<20)) * time.Minute
	for _, text := range f.SkipHours {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n >= 0 && n <= 24 {
			p.hours[n%24] = true
		}
	}
	for _, text := range f.SkipDays {
		for day := time.Sunday; day <= time.Saturday; day++ {
			if strings.EqualFold(strings.TrimSpace(text), day.String()) {
				p.days[day] = true
			}
		}
	}
	return p
}

// after returns the first time, at or after t, that is not in an hour or on a day to skip. If p
// skips all times, it returns t.
func (p *pauses) after(t time.Time) time.Time {
	t = t.UTC()
	for at, n := t, 0; n <= 7*24; n++ {
		if !p.hours[at.Hour()] && !p.days[at.Weekday()] {
			return at
		}
		at = at.Truncate(time.Hour).Add(time.Hour)
	}
	return t
}

// until returns the time from which a feed may be read again. The wait is the longer of the
// answer's freshness (RFC 9111, section 4.2.1: max-age, else Expires) and the document's ttl.
// The time is outside the hours and days to skip, and at most longest after now.
func (p *pauses) until(h http.Header, now time.Time, longest time.Duration) time.Time {
	wait := min(max(fresh(h, now), p.ttl), longest)
	at := p.after(now.Add(wait))
	if latest := now.Add(longest); at.After(latest) {
		return latest
	}
	return at
}

// fresh returns how long an answer may be used without another request, by its headers.
func fresh(h http.Header, now time.Time) time.Duration {
	age := time.Duration(-1)
	for _, line := range h.Values("Cache-Control") {
		for _, d := range strings.Split(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
			switch strings.ToLower(name) {
			case "no-cache", "no-store":
				return 0
			case "max-age":
				if n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil {
					age = time.Duration(n) * time.Second
				}
			}
		}
	}
	if age >= 0 {
		n, _ := strconv.ParseInt(h.Get("Age"), 10, 32)
		return age - time.Duration(n)*time.Second
	}
	expires, err := http.ParseTime(h.Get("Expires"))
	if err != nil {
		return 0
	}
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		now = d
	}
	return expires.Sub(now)
}
