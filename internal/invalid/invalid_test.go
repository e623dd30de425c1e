package invalid_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

func TestFieldError(t *testing.T) {
	for want, err := range map[string]error{
		`rule: tag "" is not allowed: want 1 to 100 characters`: invalid.Field("rule", "tag", "", "1 to 100 characters"),
		`page "-1" is not allowed: want at least 1`:             &invalid.FieldError{Field: "page", Value: "-1", Allowed: "at least 1"},
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
