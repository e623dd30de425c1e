package upstream

import (
	"net/http"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestParseRateLimit(t *testing.T) {
	known := func(limit, remaining int, reset time.Time) fetcher.RateLimit {
		return fetcher.RateLimit{Known: true, Limit: limit, Remaining: remaining, Reset: reset}
	}
	tests := []struct {
		name                             string
		prefix, limit, remaining, resets string
		want                             fetcher.RateLimit
	}{
		{"Unix seconds", "x-rate-limit-", "900", "899", "1772367300", known(900, 899, noon.Add(15*time.Minute))},
		{"ISO 8601 with microseconds", "X-RateLimit-", "300", "299", "2026-03-01T12:05:00.000000Z", known(300, 299, noon.Add(5*time.Minute))},
		{"ISO 8601 with an offset", "X-RateLimit-", "300", "1", "2026-03-01T13:05:00+01:00", known(300, 1, noon.Add(5*time.Minute))},
		{"seconds to wait", "RateLimit-", "300", "0", "45", known(300, 0, noon.Add(45*time.Second))},
		{"spaces around values", "RateLimit-", " 300 ", " 7 ", " 45 ", known(300, 7, noon.Add(45*time.Second))},
		{"fractions", "X-RateLimit-", "100.0", "99.5", "57", known(100, 99, noon.Add(57*time.Second))},
		{"nothing left, with a fraction", "X-RateLimit-", "", "0.0", "57", known(0, 0, noon.Add(57*time.Second))},
		{"a fraction that makes no sense", "RateLimit-", "300", "7.x", "45", fetcher.RateLimit{}},
		{"two fractions", "RateLimit-", "300", "7.0.0", "45", fetcher.RateLimit{}},
		{"no reset", "RateLimit-", "300", "7", "", known(300, 7, time.Time{})},
		{"reset that makes no sense", "RateLimit-", "300", "7", "soon", known(300, 7, time.Time{})},
		{"negative reset", "RateLimit-", "300", "7", "-5", known(300, 7, time.Time{})},
		{"reset in the past is kept", "RateLimit-", "300", "7", "2026-03-01T11:00:00Z", known(300, 7, noon.Add(-time.Hour))},
		{"reset beyond a day is cut", "RateLimit-", "300", "7", "2036-03-01T11:00:00Z", known(300, 7, noon.Add(MaxWait))},
		{"milliseconds are cut too", "RateLimit-", "300", "7", "1772367300000", known(300, 7, noon.Add(MaxWait))},
		{"wait beyond a day is cut", "RateLimit-", "300", "7", "999999999", known(300, 7, noon.Add(MaxWait))},
		{"limit that makes no sense", "RateLimit-", "many", "7", "45", known(0, 7, noon.Add(45*time.Second))},
		{"negative limit", "RateLimit-", "-1", "7", "45", known(0, 7, noon.Add(45*time.Second))},
		{"nothing without remaining", "RateLimit-", "300", "", "45", fetcher.RateLimit{}},
		{"negative remaining", "RateLimit-", "300", "-1", "45", fetcher.RateLimit{}},
		{"a family of headers nobody uses", "X-Quota-", "300", "7", "45", fetcher.RateLimit{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.prefix+"Limit", tt.limit)
			h.Set(tt.prefix+"Remaining", tt.remaining)
			h.Set(tt.prefix+"Reset", tt.resets)
			got := ParseRateLimit(h, noon)
			if got.Known != tt.want.Known || got.Limit != tt.want.Limit || got.Remaining != tt.want.Remaining || !got.Reset.Equal(tt.want.Reset) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestParseRetryAfter(t *testing.T) {
	tests := []struct {
		name, value string
		want        time.Duration
		ok          bool
	}{
		{"seconds", "120", 2 * time.Minute, true},
		{"a fraction", "1.5", 1500 * time.Millisecond, true},
		{"spaces", " 3 ", 3 * time.Second, true},
		{"zero", "0", 0, true},
		{"negative gives no wait", "-7", 0, true},
		{"HTTP date", "Sun, 01 Mar 2026 12:01:30 GMT", 90 * time.Second, true},
		{"HTTP date in the past", "Sun, 01 Mar 2026 11:00:00 GMT", 0, true},
		{"more than a day is cut", "1e12", MaxWait, true},
		{"a date years ahead is cut", "Sat, 01 Mar 2036 12:00:00 GMT", MaxWait, true},
		{"empty", "", 0, false},
		{"words", "later", 0, false},
		{"not a number", "NaN", 0, false},
		{"infinity is not a number of seconds", "Infinity", 0, false},
		{"out of range", "1e999", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ParseRetryAfter(tt.value, noon)
			if got != tt.want || ok != tt.ok {
				t.Errorf("ParseRetryAfter(%q) = %v, %v; want %v, %v", tt.value, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "120", "1.5", "-1", "NaN", "Inf", "1e400", "0x1p9", "Sun, 01 Mar 2026 12:01:30 GMT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := ParseRetryAfter(s, noon)
		if d < 0 || d > MaxWait || (!ok && d != 0) {
			t.Errorf("ParseRetryAfter(%q) = %v, %v", s, d, ok)
		}
	})
}

func FuzzParseRateLimit(f *testing.F) {
	f.Add("300", "299", "2026-03-01T12:05:00.000000Z")
	f.Add("900", "0", "1772367300")
	f.Add("", "1", "45")
	f.Add("-1", "-1", "-1")
	f.Add("x", "9223372036854775807", "9223372036854775807")
	f.Fuzz(func(t *testing.T, limit, remaining, reset string) {
		rl := ParseRateLimit(http.Header{
			"X-Ratelimit-Limit":     {limit},
			"X-Ratelimit-Remaining": {remaining},
			"X-Ratelimit-Reset":     {reset},
		}, noon)
		if !rl.Known && rl != (fetcher.RateLimit{}) {
			t.Errorf("unknown but %+v", rl)
		}
		if rl.Limit < 0 || rl.Remaining < 0 || rl.Reset.After(noon.Add(MaxWait)) {
			t.Errorf("out of bounds: %+v", rl)
		}
	})
}
