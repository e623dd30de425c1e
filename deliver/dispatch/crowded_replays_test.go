package dispatch_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// A replay is carried out beside hundreds of others that wait for their endpoints, and are
// due for longer.
func TestReplaysThatWaitKeepBackNoOther(t *testing.T) {
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
				replay := func(id string) deliver.Replay {
					now := time.Now()
					return deliver.Replay{ID: id, Owner: "o", EndpointID: id, SourceID: id, Last: 3, State: deliver.ReplayRunning, Due: now, CreatedAt: now, UpdatedAt: now}
				}
				for i := range 300 {
					id := fmt.Sprint("w", i)
					e := deliver.Endpoint{ID: id, Source: src(id), URL: "https://w.example.com/", Status: deliver.EndpointActive, CreatedAt: time.Now()}
					row.wait(&e)
					if err := b.stored().Create(t.Context(), e); err != nil {
						t.Fatal(err)
					}
					if err := b.store.Ports().Replays.Start(t.Context(), replay(id)); err != nil {
						t.Fatal(err)
					}
				}
				b.run()
				pass(time.Second)
				if err := b.d.StartReplay(t.Context(), replay("a")); err != nil {
					t.Fatal(err)
				}
				pass(10 * time.Minute)
				if r, err := b.d.Replay(t.Context(), "o", "a"); err != nil || r.State != deliver.ReplayDone || len(b.all()) != 3 {
					t.Errorf("after 10 minutes the replay is %s at %d of %d, %v, with %d attempts; want it done with 3", r.State, r.Cursor, r.Last, err, len(b.all()))
				}
				b.stop()
			})
		})
	}
}
