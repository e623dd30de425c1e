package dispatch

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"golang.org/x/time/rate"
)

// Each thing that a lane would lose keeps it by itself.
func TestLaneIsIdleWhenNothingWouldBeLost(t *testing.T) {
	now := time.Now()
	limiter := rate.NewLimiter(1, 2) // two at once, one a second
	limiter.AllowN(now, 1)
	for _, row := range []struct {
		name string
		lane lane
		want bool
	}{
		{"new", lane{}, true},
		{"used", lane{endpoint: deliver.Endpoint{ID: "a"}, loaded: now, limit: 4, gen: 1, answered: true}, true},
		{"waited until now", lane{until: now}, true},
		{"its rate is whole again", lane{limiter: rate.NewLimiter(1, 2)}, true},
		{"queue", lane{queue: []*item{{}}}, false},
		{"queue of replays", lane{later: []*item{{}}}, false},
		{"attempt under way", lane{inFlight: 1}, false},
		{"endpoint is being read", lane{loading: true}, false},
		{"behind", lane{behind: 1}, false},
		{"waits", lane{until: now.Add(1)}, false},
		{"breaker is open", lane{breaker: breaker{open: breakerFirst, until: now}}, false},
		{"failed", lane{health: health{failures: 1, since: now}}, false},
		{"was asked to wait", lane{health: health{asked: now}}, false},
		{"its rate is in use", lane{limiter: limiter}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.lane.idle(now); got != row.want {
				t.Errorf("idle() = %v, want %v", got, row.want)
			}
		})
	}
	if l := (lane{limiter: limiter}); !l.idle(now.Add(time.Second)) {
		t.Error("idle() = false although the rate is whole again after a second")
	}
}
