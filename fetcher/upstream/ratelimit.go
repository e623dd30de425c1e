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
// Reset, which is read as ResetAny: Mastodon writes an RFC 3339 time, X a Unix time,
// others a number of seconds. Counts may have a fraction, which is cut. Invalid values
// are ignored. Config.Quota names the headers of a server with others.
func ParseRateLimit(h http.Header, now time.Time) fetcher.RateLimit {
	for _, prefix := range []string{"X-Rate-Limit-", "X-Ratelimit-", "Ratelimit-"} {
		if rl, ok := readLimit(h, prefix+"Remaining", prefix+"Limit"); ok {
			rl.Reset = ResetAny.parse(strings.TrimSpace(h.Get(prefix+"Reset")), now)
			return rl
		}
	}
	return fetcher.RateLimit{}
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
