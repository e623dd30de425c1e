package upstream

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// MaxWait bounds the wait that a server can ask for.
const MaxWait = 24 * time.Hour

// ParseRateLimit reads the rate-limit headers in use among the platforms:
// X-Rate-Limit-*, X-RateLimit-* and RateLimit-*, each with Limit, Remaining and
// Reset: Mastodon writes an RFC 3339 time, X a Unix time,
// others a number of seconds. Counts may have a fraction, which is cut. Invalid values
// are ignored.
func ParseRateLimit(h http.Header, now time.Time) fetcher.RateLimit {
	for _, prefix := range []string{"X-Rate-Limit-", "X-Ratelimit-", "Ratelimit-"} {
		if left, ok := count(h.Get(prefix + "Remaining")); ok {
			limit, _ := count(h.Get(prefix + "Limit"))
			return fetcher.RateLimit{Known: true, Remaining: left, Limit: limit, Reset: parseReset(strings.TrimSpace(h.Get(prefix+"Reset")), now)}
		}
	}
	return fetcher.RateLimit{}
}

// parseReset reads the end of a window: a number of seconds, above 1,000,000,000 a Unix
// time, an RFC 3339 time or an HTTP date. It returns the zero time for another value, and
// no time later than MaxWait from now.
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

// count reads a number of calls. Some servers write it with a fraction: Reddit "0.0".
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

// ParseRetryAfter reads a Retry-After value: seconds, whole or with a
// fraction, or an HTTP date. It reports false for a value it cannot read. A
// date in the past or a negative number is 0, and MaxWait is the most it returns.
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
