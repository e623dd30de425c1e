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
	var failed, asked health
	failed.record(now, &deliver.Result{}, false)
	asked.record(now, &deliver.Result{}, true)
	var open breaker
	for range 10 {
		open.record(now, false)
	}
	for _, row := range []struct {
		name string
		lane lane
		want bool
	}{
		{"new", lane{}, true},
		{"used", lane{pace: pace{answered: true}, record: laneRecord{state: recordActive, endpoint: deliver.Endpoint{ID: "a"}, readAt: now}, inFlightLimit: 4}, true},
		{"waited until now", lane{gated: gateParked, until: now}, true},
		{"its rate is whole again", lane{limiter: rate.NewLimiter(1, 2)}, true},
		{"queue", lane{queue: laneQueue{items: []*item{{}}}}, false},
		{"queue of replays", lane{queue: laneQueue{replays: []*item{{}}}}, false},
		{"attempt under way", lane{queue: laneQueue{inFlight: 1}}, false},
		{"endpoint is being read", lane{record: laneRecord{state: recordReading}}, false},
		{"behind", lane{queue: laneQueue{behind: 1}}, false},
		{"waits", lane{gated: gateWaiting, until: now.Add(1)}, false},
		{"breaker is open", lane{breaker: open}, false},
		{"failed", lane{health: failed}, false},
		{"was asked to wait", lane{health: asked}, false},
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
