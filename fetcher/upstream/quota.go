package upstream

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Quota names the headers in which a server states its rate limit, such as
// "X-Quota-Left". The zero Quota stands for the headers of ParseRateLimit.
type Quota struct {
	// Remaining is the header with the number of calls left in this window. Required
	// if another field is set.
	Remaining string
	// Limit is the header with the number of calls of a window, "" for none.
	Limit string
	// Reset is the header with the end of the window, "" for none.
	Reset string
	// Form is how the value of Reset is written. Defaults to ResetAny.
	Form ResetForm
}

// ResetForm is how a server writes when a window ends.
type ResetForm uint8

const (
	// ResetAny takes a number above 1,000,000,000 as ResetUnix, a smaller one as
	// ResetSeconds, and anything else as ResetTime.
	ResetAny ResetForm = iota
	// ResetSeconds is a number of seconds from now, with or without a fraction.
	ResetSeconds
	// ResetUnix is a Unix time in seconds, with or without a fraction.
	ResetUnix
	// ResetTime is an RFC 3339 time or an HTTP date.
	ResetTime
)

func (f ResetForm) String() string {
	switch f {
	case ResetAny:
		return "any"
	case ResetSeconds:
		return "seconds"
	case ResetUnix:
		return "Unix time"
	case ResetTime:
		return "time"
	}
	return strconv.Itoa(int(f))
}

func (q *Quota) check() error {
	for _, f := range []struct{ field, name string }{{"Remaining", q.Remaining}, {"Limit", q.Limit}, {"Reset", q.Reset}} {
		if strings.ContainsFunc(f.name, notToken) {
			return fmt.Errorf("upstream: Quota.%s %q is not allowed: want the name of a header", f.field, f.name)
		}
	}
	if q.Remaining == "" && *q != (Quota{}) {
		return fmt.Errorf("upstream: Quota.Remaining is missing: want the name of a header, or no Quota")
	}
	if q.Form > ResetTime {
		return fmt.Errorf("upstream: Quota.Form %s is not allowed: want ResetAny, ResetSeconds, ResetUnix or ResetTime", q.Form)
	}
	return nil
}

// notToken reports whether a header's name cannot have a character (RFC 9110,
// section 5.6.2).
func notToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
}

// read reads an answer's rate limit. Invalid values are ignored.
func (q *Quota) read(h http.Header, now time.Time) fetcher.RateLimit {
	if q.Remaining == "" {
		return ParseRateLimit(h, now)
	}
	rl, _ := readLimit(h, q.Remaining, q.Limit)
	if rl.Known {
		rl.Reset = q.Form.parse(strings.TrimSpace(h.Get(q.Reset)), now)
	}
	return rl
}

// parse returns the zero time for a value of another form, and no time later than MaxWait
// from now.
func (f ResetForm) parse(s string, now time.Time) time.Time {
	if f == ResetAny || f == ResetTime {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return bound(t, now)
		}
		if t, err := http.ParseTime(s); err == nil {
			return bound(t, now)
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	switch {
	case f == ResetTime || err != nil || !(n >= 0):
		return time.Time{}
	case f == ResetUnix || f == ResetAny && n > 1e9:
		n = min(n, float64(now.Add(MaxWait).Unix())+1)
		return bound(time.Unix(0, 0).Add(time.Duration(n*float64(time.Second))), now)
	default:
		return now.Add(time.Duration(min(n, MaxWait.Seconds()) * float64(time.Second)))
	}
}

// readLimit reads a limit without its reset; false if there is no number of remaining
// calls.
func readLimit(h http.Header, remaining, limit string) (rl fetcher.RateLimit, ok bool) {
	left, ok := count(h.Get(remaining))
	if !ok {
		return rl, false
	}
	rl = fetcher.RateLimit{Known: true, Remaining: left}
	if n, ok := count(h.Get(limit)); ok {
		rl.Limit = n
	}
	return rl, true
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
