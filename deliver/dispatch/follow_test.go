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
		{"another secret", func(e *deliver.Endpoint) { e.Secret = deliver.GenerateSecret() }, true},
		{"other headers", func(e *deliver.Endpoint) { e.Headers = []deliver.Header{{Name: "A", Value: "b"}} }, true},
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
