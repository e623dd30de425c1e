package upstream

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// MaxWait bounds every wait a server can ask for.
const MaxWait = 24 * time.Hour

// ParseRateLimit reads the rate-limit headers in use among the platforms:
// x-rate-limit-*, x-ratelimit-* and ratelimit-*, whose reset is a Unix time in
// seconds, a number of seconds to wait, or an ISO 8601 time (Mastodon).
// Values that make no sense are ignored.
func ParseRateLimit(h http.Header, now time.Time) fetcher.RateLimit {
	for _, prefix := range []string{"X-Rate-Limit-", "X-Ratelimit-", "Ratelimit-"} {
		remaining, err := strconv.Atoi(strings.TrimSpace(h.Get(prefix + "Remaining")))
		if err != nil || remaining < 0 {
			continue
		}
		rl := fetcher.RateLimit{Known: true, Remaining: remaining}
		if n, err := strconv.Atoi(strings.TrimSpace(h.Get(prefix + "Limit"))); err == nil && n > 0 {
			rl.Limit = n
		}
		rl.Reset = parseReset(strings.TrimSpace(h.Get(prefix+"Reset")), now)
		return rl
	}
	return fetcher.RateLimit{}
}

// parseReset takes a number above a billion as a Unix time and a smaller one
// as seconds from now.
func parseReset(s string, now time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return bound(t, now)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || n < 0:
		return time.Time{}
	case n > 1_000_000_000:
		return bound(time.Unix(n, 0), now)
	default:
		return now.Add(min(time.Duration(min(n, 1<<30))*time.Second, MaxWait))
	}
}

func bound(t, now time.Time) time.Time {
	if latest := now.Add(MaxWait); t.After(latest) {
		return latest
	}
	return t
}

// ParseRetryAfter reads a Retry-After value: seconds, whole or with a
// fraction, or an HTTP date. It reports false for a value it cannot read. A
// date in the past or a negative number gives 0; nothing gives more than
// MaxWait.
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
