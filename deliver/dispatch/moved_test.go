package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// What the old receiver answers after the endpoint has moved to another URL does not count
// against the new one. Its deliveries are sent to the new one.
func TestOldReceiverDoesNotJudgeTheNew(t *testing.T) {
	for _, row := range []struct {
		name string
		n    int // attempts under way
		old  deliver.Result
	}{
		{"gone", 3, deliver.Result{StatusCode: 410, Error: "status 410", Permanent: true}},
		{"asks for an hour", 1, deliver.Result{StatusCode: 503, Error: "status 503", RetryAfter: time.Hour}},
		{"asks for less", 1, deliver.Result{StatusCode: 429, Error: "status 429"}},
		{"fails", 20, deliver.Result{StatusCode: 500, Error: "status 500"}},
		{"takes long", 4, deliver.Result{Error: deliver.TimeoutError}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w watcher
				b, m := manages(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
					if strings.Contains(d.Endpoint.URL, "//a.") {
						<-time.After(5 * time.Second)
						return row.old
					}
					return deliver.Result{OK: true, StatusCode: 200}
				}, &w)
				b.commit("a", "first", row.n, true)
				pass(time.Second)
				if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{URL: ptr("https://b.example.com/")}); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Second) // all of the old attempts have ended
				if lane, ok := b.d.Lane("a"); !ok || lane.Gate != "open" || !lane.OpenUntil.IsZero() || !lane.FailingSince.IsZero() || lane.Pace == "cautious" || lane.Pace == "hung" {
					t.Errorf("after the answers of the old receiver the lane is %+v, want none of it", lane)
				}
				b.commit("a", "new", 1, true)
				pass(time.Minute)
				for _, le := range b.log() {
					if le.State != deliver.StateDelivered {
						t.Errorf("%s is %s after %d attempts, want it delivered to the new receiver", le.Event.TweetID, le.State, le.Attempts)
					}
					if new := strings.HasPrefix(le.Event.TweetID, "new"); new && le.Attempts != 1 {
						t.Errorf("%s took %d attempts, want 1", le.Event.TweetID, le.Attempts)
					}
				}
				if e, err := b.stored().Get(t.Context(), "o", "a"); err != nil || e.Status != deliver.EndpointActive || w.kinds() != "" {
					t.Errorf("the endpoint is %s, %v; told %q", e.Status, err, w.kinds())
				}
				b.stop()
			})
		})
	}
}

// A delivery that the old receiver asked to wait does not wait for that, and does not fail
// because its schedule is spent.
func TestWaitOfTheOldReceiverUsesUpNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			if strings.Contains(d.Endpoint.URL, "//a.") {
				<-time.After(5 * time.Second)
				return tooMany(time.Hour)
			}
			return deliver.Result{OK: true, StatusCode: 200}
		}, func(c *dispatch.Config) { c.RetrySchedule = []time.Duration{} })
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 1, true)
		pass(time.Second)
		b.change("a", func(e *deliver.Endpoint) { e.URL = "https://b.example.com/" })
		if err := b.d.Follow(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if log := b.log(); log[0].State != deliver.StateDelivered || log[0].Attempts != 2 {
			t.Errorf("a minute later it is %s after %d attempts, want it delivered by the second", log[0].State, log[0].Attempts)
		}
		b.stop()
	})
}
