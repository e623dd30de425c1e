package upstream

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// MaxWait is the longest wait that is accepted from a server.
const MaxWait = 24 * time.Hour

// ParseRateLimit reads the rate-limit headers that platforms use: X-Rate-Limit-*,
// X-RateLimit-* and RateLimit-*, each with the suffixes Limit, Remaining and Reset.
// Reset may be an RFC 3339 time (Mastodon), a Unix time (X), an HTTP date, or a number
// of seconds. The fraction of a count is dropped. Invalid values are ignored.
func ParseRateLimit(h http.Header, now time.Time) fetcher.RateLimit {
	for _, prefix := range []string{"X-Rate-Limit-", "X-Ratelimit-", "Ratelimit-"} {
		if left, ok := count(h.Get(prefix + "Remaining")); ok {
			limit, _ := count(h.Get(prefix + "Limit"))
			return fetcher.RateLimit{Known: true, Remaining: left, Limit: limit, Reset: parseReset(strings.TrimSpace(h.Get(prefix+"Reset")), now)}
		}
	}
	return fetcher.RateLimit{}
}

// parseReset returns the time at which a window ends. s is an RFC 3339 time, an HTTP
// date, a number of seconds from now or, above 1e9, a Unix time. A time later than
// MaxWait from now is cut to that. Any other s gives the zero time.
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

// count parses a number of calls and drops its fraction: Reddit, for one, writes "0.0".
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

// ParseRetryAfter parses a Retry-After value: an HTTP date or a number of seconds,
// which may have a fraction. It returns 0 for a past date or a negative number, and at
// most MaxWait. It reports false for an invalid value.
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
