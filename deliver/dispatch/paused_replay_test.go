package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// A replay makes no step while its endpoint is paused or disabled, and goes on within seconds
// afterwards, also where no delivery is queued for the endpoint.
func TestReplayWaitsForItsEndpoint(t *testing.T) {
	for name, set := range map[string]func(ctx context.Context, m *endpoints.Manager, waits bool) error{
		"paused": func(ctx context.Context, m *endpoints.Manager, waits bool) error {
			return second(m.Update(ctx, "o", "a", endpoints.Update{Paused: &waits}))
		},
		"disabled": func(ctx context.Context, m *endpoints.Manager, waits bool) error {
			if waits {
				return second(m.Disable(ctx, "o", "a", "down"))
			}
			return second(m.Enable(ctx, "o", "a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testReplayWaits(t, set) })
		})
	}
}

func testReplayWaits(t *testing.T, set func(ctx context.Context, m *endpoints.Manager, waits bool) error) {
	b := newBench(t, nil, nil)
	b.commit("a", "old", 3, false) // before there is an endpoint
	b.endpoint("a")
	if err := set(t.Context(), b.manager(), true); err != nil {
		t.Fatal(err)
	}
	b.run()
	now := time.Now()
	err := b.d.StartReplay(t.Context(), deliver.Replay{ID: "r", Owner: "o", EndpointID: "a", SourceID: "a", Last: 3,
		State: deliver.ReplayRunning, Due: now, CreatedAt: now, UpdatedAt: now})
	if err != nil {
		t.Fatal(err)
	}
	pass(10 * time.Second)
	if r, err := b.store.Ports().Replays.Get(t.Context(), "o", "a"); err != nil || r.State != deliver.ReplayRunning || r.Created != 0 || len(b.all()) != 0 {
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
}

func second[T any](_ T, err error) error { return err }
