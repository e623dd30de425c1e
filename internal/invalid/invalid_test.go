package invalid_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

func TestFieldError(t *testing.T) {
	for want, err := range map[string]error{
		`rule: Tag "" is not allowed: want 1 to 100 characters`:                  invalid.Field("rule", "tag", "", "1 to 100 characters"),
		`monitor: WebhookURL "x" is not allowed: want an https URL`:              invalid.Field("monitor", "webhook_url", "x", "an https URL"),
		`monitor: PollInterval "9" is not allowed: want at most 8`:               invalid.Field("monitor", "poll_interval_seconds", "9", "at most 8"),
		`deliver: Limits.InFlight "-1" is not allowed: want 1 to 1024`:           invalid.Field("deliver", "max_in_flight", "-1", "1 to 1024"),
		`detect: Cursor.Target "" is not allowed: want the target of the cursor`: invalid.Field("detect", "Cursor.Target", "", "the target of the cursor"),
		`page "-1" is not allowed: want at least 1`:                              &invalid.FieldError{Field: "page", Wire: "page", Value: "-1", Allowed: "at least 1"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("Error() = %s, want %s", got, want)
		}
	}
}

// An error is no longer for a long value.
func TestFieldClipsItsValue(t *testing.T) {
	long := strings.Repeat("é", 200)
	if err := invalid.Field("rule", "tag", long, "1 to 100 characters"); err.Value != strings.Repeat("é", 100)+"…" {
		t.Errorf("the value shown is %q, want 100 characters of it and an ellipsis", err.Value)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"é", 1, ""}, {"", 0, ""}} {
		if got := invalid.Cut(tt.s, tt.n); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

// A name shows as it is stored.
func TestName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "Ünïcode": true, "日本語": true, "עברית": true, "می\u200cشد": true, "a b": true, "👩\u200d🚀": true, "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": true,
		"12345678": true, "日本語日本語日本": true, "<b>&": true,
		"": false, " ": false, "\u00a0\u3000": false, "\u200b": false, "\u200d\ufeff": false, "123456789": false, "日本語日本語日本語": false,
		"a\x00": false, "a\n": false, "a\x1b[0m": false, "a\u0085": false, "a\u2028": false, "a\u2029": false,
		"a\u202eb": false, "a\u202a": false, "a\u202b": false, "a\u202c": false, "a\u202d": false, "\u2066a": false, "a\u2067": false, "a\u2068": false, "a\u2069": false,
		"a\u200e": false, "a\u200f": false, "a\u061c": false,
		"a\ufffd": false, "a\xff": false, "a\xed\xa0\x80": false, "a\ufffe": false, "a\uffff": false, "a\ufdd0": false, "a\U0010ffff": false,
	} {
		if got := invalid.Name(name, 8); got != want {
			t.Errorf("Name(%+q) = %t, want %t", name, got, want)
		}
	}
}
