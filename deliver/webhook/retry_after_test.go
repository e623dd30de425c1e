package webhook_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver/webhook"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	tests := []struct {
		name, in string
		want     time.Duration
	}{
		{"seconds", "120", 120 * time.Second},
		{"a fraction", "0.25", 250 * time.Millisecond},
		{"spaces around", " 5 ", 5 * time.Second},
		{"zero", "0", 0},
		{"date", "Fri, 02 Jan 2026 15:05:05 GMT", time.Minute},
		{"date in the past", "Fri, 02 Jan 2026 15:03:05 GMT", 0},
		{"date of RFC 850", "Friday, 02-Jan-26 15:05:05 GMT", time.Minute},
		{"date of asctime", "Fri Jan  2 15:05:05 2026", time.Minute},
		{"date far ahead", "Fri, 02 Jan 2099 15:05:05 GMT", 24 * time.Hour},
		{"negative", "-1", 0},
		{"huge", "1e12", 24 * time.Hour},
		{"over 64 bits", "99999999999999999999", 24 * time.Hour},
		{"over a float", "1e999", 24 * time.Hour},
		{"far below zero", "-1e999", 0},
		{"empty", "", 0},
		{"garbage", "soon", 0},
		{"two values", "1, 2", 0},
		{"infinity", "Inf", 0},
		{"not a number", "NaN", 0},
		{"duration", "5s", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := webhook.ParseRetryAfter(tc.in, now); got != tc.want {
				t.Errorf("%q gives %v, want %v", tc.in, got, tc.want)
			}
		})
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"1", "-1", "1e12", "Inf", "NaN", "Fri, 02 Jan 2026 15:05:05 GMT", "0x1p4", "1e-400"} {
		f.Add(s, int64(1767366245))
	}
	f.Fuzz(func(t *testing.T, s string, now int64) {
		if d := webhook.ParseRetryAfter(s, time.Unix(now%(1<<36), 0)); d < 0 || d > 24*time.Hour {
			t.Fatalf("%q gives %v, want 0 to 24 h", s, d)
		}
	})
}

func TestWebhookTwoRetryAfterHeaders(t *testing.T) {
	r := sendVia(t, answer(503, "", "Retry-After", "3", "Retry-After", "900"))
	if r.RetryAfter != 3*time.Second {
		t.Errorf("RetryAfter %v, want the first, 3s", r.RetryAfter)
	}
}
