package testsize_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

func TestOf(t *testing.T) {
	usual := "usual"
	if testing.Short() || testsize.Race {
		usual = "short"
	}
	for _, row := range []struct{ long, want string }{{"", usual}, {"1", "long"}} {
		t.Setenv("STREAMWATCH_LONG", row.long)
		if got := testsize.Of("short", "usual", "long"); got != row.want {
			t.Errorf("STREAMWATCH_LONG=%q: %s, want %s", row.long, got, row.want)
		}
	}
}
