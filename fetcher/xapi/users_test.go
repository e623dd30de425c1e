package xapi_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// A handle may be given to another account while the one that had it is there.
func TestHandleIsLookedUpOnceADay(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	for _, after := range []struct {
		time.Duration
		calls int
	}{{0, 1}, {24*time.Hour - 1, 1}, {1, 2}} {
		r.pass(after.Duration)
		r.read(fetcher.TimelineQuery{Username: "ann"})
		if n := r.Calls("/2/users/by"); n != after.calls {
			t.Errorf("after %s: %d look-ups, want %d", after.Duration, n, after.calls)
		}
	}
}
