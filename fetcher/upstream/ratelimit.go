package upstream

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// MaxWait is the longest wait that ParseRateLimit and ParseRetryAfter return.
const MaxWait = 24 * time.Hour

// ParseRateLimit parses the rate-limit headers of an answer: X-Rate-Limit-*, X-RateLimit-* or
// RateLimit-*, with the suffixes Limit, Remaining and Reset. Reset may be an RFC 3339 time
// (Mastodon), a Unix time (X), an HTTP date, or a number of seconds. ParseRateLimit drops the
// fraction of a count and ignores invalid values.
func ParseRateLimit(h http.Header, now time.Time) fetcher.RateLimit {
	for _, prefix := range []string{"X-Rate-Limit-", "X-Ratelimit-", "Ratelimit-"} {
		if left, ok := count(h.Get(prefix + "Remaining")); ok {
			limit, _ := count(h.Get(prefix + "Limit"))
			return fetcher.RateLimit{Known: true, Remaining: left, Limit: limit, Reset: parseReset(strings.TrimSpace(h.Get(prefix+"Reset")), now)}
		}
	}
	return fetcher.RateLimit{}
}

// parseReset returns the time at which a window ends. s is an RFC 3339 time, an HTTP date, a
// number of seconds from now or, above 1e9, a Unix time. The result is at most MaxWait from
// now. It is zero if s has another form.
func parseReset(s string, now time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return bound(t, now)
	}
	if t, err := http.ParseTime(s); err == nil {
		return bound(t, now)
	}
	n, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || !(n >= 0):
		return time.Time{}
	case n > 1e9:
		n -= float64(now.Unix())
	}
	return now.Add(time.Duration(min(n, MaxWait.Seconds()) * float64(time.Second)))
}

// count parses a number of calls and drops its fraction. Reddit, for example, sends "0.0".
func count(s string) (n int, ok bool) {
	whole, fraction, _ := strings.Cut(strings.TrimSpace(s), ".")
	n, err := strconv.Atoi(whole)
	if err != nil || n < 0 || strings.Trim(fraction, "0123456789") != "" {
		return 0, false
	}
	return n, true
}

func bound(t, now time.Time) time.Time {
	if latest := now.Add(MaxWait); t.After(latest) {
		return latest
	}
	return t
}

// ParseRetryAfter parses a Retry-After value: an HTTP date or a number of seconds, which may
// have a fraction. The result is 0 for a past date or a negative number, and at most MaxWait.
// ParseRetryAfter reports false for an invalid value.
func ParseRetryAfter(s string, now time.Time) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, false
		}
		f = min(max(f, 0), MaxWait.Seconds())
		return time.Duration(f * float64(time.Second)), true
	}
	t, err := http.ParseTime(s)
	if err != nil {
		return 0, false
	}
	return min(max(t.Sub(now), 0), MaxWait), true
}
