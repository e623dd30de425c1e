package dispatch_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// A change that another process has made takes effect here when it is followed: an
// endpoint that is up again gets what comes at once, whatever the breaker has seen, one
// that was deleted gets nothing more, and any other change leaves the breaker as it is.
func TestFollow(t *testing.T) {
	now := func() time.Time { return time.Now().UTC().Round(0) }
	for _, row := range []struct {
		name   string
		change func(*deliver.Endpoint)
		sends  bool
	}{
		{"another url", func(e *deliver.Endpoint) { e.URL = "https://b.example.com/" }, true},
		{"enabled again", func(e *deliver.Endpoint) { e.StatusSince = now() }, true},
		{"failures forgotten", func(e *deliver.Endpoint) { e.FailingSince = time.Time{} }, true},
		{"another limit", func(e *deliver.Endpoint) { e.Limits.InFlight = 3 }, false},
		{"deleted", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts atomic.Int64
				b, _ := manages(t, func(ctx context.Context, d *deliver.Delivery) deliver.Result {
					attempts.Add(1)
					return refusesAll(ctx, d)
				}, new(watcher))
				for i := range 60 { // until the breaker is open for long
					b.commit("a", fmt.Sprint("p", i, "-"), 2, true)
					pass(time.Minute)
				}
				before := attempts.Load()
				e, err := b.store.Endpoints().Get(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				if row.change == nil {
					err = b.store.Endpoints().Delete(t.Context(), "o", "a")
				} else {
					row.change(&e)
					err = b.store.Endpoints().Update(t.Context(), e)
				}
				if err == nil {
					err = b.d.Follow(t.Context(), "o", "a")
				}
				if err != nil {
					t.Fatal(err)
				}
				if row.change != nil {
					b.commit("a", "after-", 1, true)
				}
				pass(10 * time.Millisecond)
				if sent := attempts.Load() > before; sent != row.sends {
					t.Errorf("sent at once: %t, want %t", sent, row.sends)
				}
				b.stop()
			})
		})
	}
}

// A lane that waits for long because of its receiver sees within a minute what another
// process has changed without telling.
func TestRestingLaneSeesChanges(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*deliver.Endpoint)
		sends  bool
	}{
		{"another url", func(e *deliver.Endpoint) { e.URL = "https://b.example.com/" }, true},
		{"enabled", func(e *deliver.Endpoint) { e.EnabledAt = time.Now().UTC().Round(0) }, true},
		{"another limit", func(e *deliver.Endpoint) { e.Limits.InFlight = 3 }, false},
		{"deleted", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var up atomic.Bool
				b := newBench(t, asks(50*time.Minute, &up), nil)
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 5, true)
				pass(10 * time.Minute)
				asked := len(b.all())
				up.Store(true)
				e, err := b.store.Endpoints().Get(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				if row.change == nil {
					err = b.store.Endpoints().Delete(t.Context(), "o", "a")
				} else {
					row.change(&e)
					err = b.store.Endpoints().Update(t.Context(), e)
				}
				if err != nil {
					t.Fatal(err)
				}
				pass(70 * time.Second)
				if sent := len(b.all()) > asked; sent != row.sends || sent && b.open() > 0 {
					t.Errorf("a minute later: sent %t, %d deliveries open; want sent %t", sent, b.open(), row.sends)
				}
				if remembered := b.d.Remembers("a"); remembered == (row.change == nil) {
					t.Errorf("the endpoint has a lane: %t", remembered)
				}
				b.stop()
			})
		})
	}
}
