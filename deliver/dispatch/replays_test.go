package dispatch_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// A replay makes no step while its endpoint is paused or disabled, and goes on within seconds
// afterwards, also where no delivery is queued for the endpoint.
func TestReplayWaitsForItsEndpoint(t *testing.T) {
	t.Run("paused", func(t *testing.T) {
		testReplayWaits(t, "", func(ctx context.Context, m *endpoints.Manager, waits bool) error {
			return second(m.Update(ctx, "o", "a", endpoints.Update{Paused: &waits}))
		})
	})
	t.Run("disabled", func(t *testing.T) {
		testReplayWaits(t, "the endpoint is not active", func(ctx context.Context, m *endpoints.Manager, waits bool) error {
			if waits {
				return second(m.Disable(ctx, "o", "a", "down"))
			}
			return second(m.Enable(ctx, "o", "a"))
		})
	})
}

func testReplayWaits(t *testing.T, waits string, set func(ctx context.Context, m *endpoints.Manager, waits bool) error) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, nil)
		b.commit("a", "old", 3, false) // before there is an endpoint
		b.endpoint("a")
		if err := set(t.Context(), b.manager(), true); err != nil {
			t.Fatal(err)
		}
		b.run()
		b.replay(3)
		pass(10 * time.Second)
		if r, err := b.d.Replay(t.Context(), "o", "a"); err != nil || r.State != deliver.ReplayRunning || r.Created != 0 || r.Waits != waits || len(b.all()) != 0 {
			t.Errorf("%+v, %v and %d attempts while it waits, want no step", r, err, len(b.all()))
		}
		if err := set(t.Context(), b.manager(), false); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		if r, err := b.store.Ports().Replays.Get(t.Context(), "o", "a"); err != nil || r.State != deliver.ReplayDone || len(b.all()) != 3 {
			t.Errorf("%+v, %v and %d attempts when it is active, want 3", r, err, len(b.all()))
		}
		b.stop()
	})
}

// The next step of a replay is made when the lane has sent nearly all of the one before.
func TestReplayIsSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, takes(10*time.Millisecond), nil)
		b.commit("a", "old", 100, false) // before there is an endpoint
		b.endpoint("a")
		b.run()
		pass(time.Minute)
		b.replay(100)
		pass(time.Second)
		if n := len(b.all()); n != 100 || b.most["a"] != 2 {
			t.Errorf("%d of 100 were sent in a second, %d at a time; want all, half of what is allowed at a time", n, b.most["a"])
		}
		b.stop()
	})
}

// A replay goes on when its receiver answers again, also if nothing else is sent to it: it makes the
// attempt that closes the breaker.
func TestReplayTriesTheReceiverAgain(t *testing.T) {
	for _, row := range []struct {
		name  string
		after time.Duration // it fails
		waits string
	}{{"refuses", 0, "the receiver does not answer well"}, {"hangs", time.Hour, ""}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var up atomic.Bool
				b := newBench(t, func(ctx context.Context, d *deliver.Delivery) deliver.Result {
					if !up.Load() {
						takes(row.after)(ctx, d)
						return deliver.Result{Error: deliver.TimeoutError}
					}
					return deliver.Result{OK: true}
				}, func(c *dispatch.Config) { c.RetrySchedule = []time.Duration{} })
				b.commit("a", "old", 60, false) // before there is an endpoint
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 12, true)
				pass(10 * time.Minute) // all have failed
				b.replay(72)
				pass(time.Minute)
				if r, err := b.d.Replay(t.Context(), "o", "a"); r.State != deliver.ReplayRunning || r.Waits != row.waits || err != nil {
					t.Errorf("while the receiver does not answer: %+v, %v", r, err)
				}
				up.Store(true)
				pass(time.Hour)
				if r, err := b.d.Replay(t.Context(), "o", "a"); r.State != deliver.ReplayDone || r.Waits != "" || err != nil {
					t.Errorf("an hour after it does: %+v, %v", r, err)
				}
				b.stop()
			})
		})
	}
}

// A replay is carried out beside hundreds of others that wait for their endpoints, and are
// due for longer.
func TestReplaysThatWaitKeepBackNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("600 replays")
	}
	for _, row := range []struct {
		name string
		wait func(*deliver.Endpoint)
	}{
		{"disabled", func(e *deliver.Endpoint) { e.Status = deliver.EndpointDisabled }},
		{"paused", func(e *deliver.Endpoint) { e.PausedSince = time.Now() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, nil)
				b.commit("a", "old", 3, false) // before there is an endpoint
				b.endpoint("a")
				for i := range 300 {
					id := fmt.Sprint("w", i)
					e := deliver.Endpoint{ID: id, Source: src(id), URL: "https://w.example.com/", Status: deliver.EndpointActive, CreatedAt: time.Now()}
					row.wait(&e)
					if err := b.stored().Create(t.Context(), e); err != nil {
						t.Fatal(err)
					}
					if err := b.store.Ports().Replays.Start(t.Context(), replayOf(id, 3)); err != nil {
						t.Fatal(err)
					}
				}
				b.run()
				pass(time.Second)
				b.replay(3)
				pass(10 * time.Minute)
				if r, err := b.d.Replay(t.Context(), "o", "a"); err != nil || r.State != deliver.ReplayDone || len(b.all()) != 3 {
					t.Errorf("after 10 minutes the replay is %s at %d of %d, %v, with %d attempts; want it done with 3", r.State, r.Cursor, r.Last, err, len(b.all()))
				}
				b.stop()
			})
		})
	}
}

func second[T any](_ T, err error) error { return err }
