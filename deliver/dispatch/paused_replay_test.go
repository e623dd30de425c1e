package dispatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// A replay makes no step while its endpoint is paused, also where no delivery is queued for it.
func TestReplayOfAPausedEndpointMakesNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, nil)
		b.commit("a", "old", 3, false) // before there is an endpoint
		b.endpoint("a")
		m, err := endpoints.New(endpoints.Config{Store: b.store.Endpoints(), Dispatcher: b.d})
		if err != nil {
			t.Fatal(err)
		}
		pause := func(yes bool) {
			t.Helper()
			if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Paused: &yes}); err != nil {
				t.Fatal(err)
			}
		}
		pause(true)
		b.run()
		now := time.Now()
		err = b.d.StartReplay(t.Context(), deliver.Replay{ID: "r", Owner: "o", EndpointID: "a", SourceID: "a", Last: 3,
			State: deliver.ReplayRunning, Due: now, CreatedAt: now, UpdatedAt: now})
		if err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if r, err := b.store.Replays().Get(t.Context(), "o", "a"); err != nil || r.State != deliver.ReplayRunning || r.Created != 0 || len(b.all()) != 0 {
			t.Errorf("%+v, %v and %d attempts while it is paused, want no step", r, err, len(b.all()))
		}
		pause(false)
		pass(10 * time.Second)
		if r, err := b.store.Replays().Get(t.Context(), "o", "a"); err != nil || r.State != deliver.ReplayDone || len(b.all()) != 3 {
			t.Errorf("%+v, %v and %d attempts when it is resumed, want 3", r, err, len(b.all()))
		}
		b.stop()
	})
}
