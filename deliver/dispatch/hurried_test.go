package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// asks answers with a wait until changed is set.
func asks(wait time.Duration, changed *atomic.Bool) func(context.Context, *deliver.Delivery) deliver.Result {
	return func(context.Context, *deliver.Delivery) deliver.Result {
		if changed.Load() {
			return deliver.Result{OK: true, StatusCode: 200}
		}
		return tooMany(wait)
	}
}

// open returns how many deliveries are not final.
func (b *bench) open() (n int) {
	b.t.Helper()
	for _, e := range b.log() {
		if !e.State.Final() {
			n++
		}
	}
	return n
}

// changesURL stores another URL of an endpoint, as another process does.
func (b *bench) changesURL(id string) {
	b.t.Helper()
	e, err := b.store.Endpoints().Get(b.t.Context(), "o", id)
	if err != nil {
		b.t.Fatal(err)
	}
	e.URL = "https://changed.example.com/"
	if err := b.store.Endpoints().Update(b.t.Context(), e); err != nil {
		b.t.Fatal(err)
	}
}

// A change that a lane sees in the record, before Follow is called, has the deliveries sent
// at once that were kept.
func TestLaneSeesTheChange(t *testing.T) {
	for name, row := range map[string]struct {
		change func(e *deliver.Endpoint)
		sent   bool
	}{
		"url":     {func(e *deliver.Endpoint) { e.URL = "https://b.example.com/" }, true},
		"headers": {func(e *deliver.Endpoint) { e.Headers = []deliver.Header{{Name: "A", Value: "b"}} }, true},
		"limit":   {func(e *deliver.Endpoint) { e.Limits.InFlight = 3 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var changed atomic.Bool
				b := newBench(t, asks(50*time.Minute, &changed), func(c *dispatch.Config) { c.LaneInFlight = 50 })
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 50, true) // each waits for 50 to 60 minutes
				pass(50*time.Minute - time.Second)
				e, err := b.store.Endpoints().Get(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				row.change(&e)
				if err := b.store.Endpoints().Update(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				changed.Store(true)
				pass(2 * time.Second)
				b.commit("a", "new", 1, true)
				pass(time.Second)
				if err := b.d.Follow(t.Context(), "o", "a"); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Second)
				if n := b.open(); row.sent != (n == 0) {
					t.Errorf("%d of 51 are open, want none: %t", n, row.sent)
				}
				b.stop()
			})
		})
	}
}

// A lane for which deliveries are kept is not forgotten while it stands idle: a change of
// the receiver has them sent at once.
func TestLaneStaysForWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changed atomic.Bool
		b := newBench(t, asks(50*time.Minute, &changed), func(c *dispatch.Config) { c.LaneInFlight = 50 })
		b.endpoint("a")
		b.endpoint("other")
		b.run()
		b.commit("a", "p", 50, true) // each waits for 50 to 60 minutes
		pass(50*time.Minute + time.Second)
		changed.Store(true)
		b.commit("a", "new", 1, true)
		pass(time.Second)
		b.d.SweepNext()
		b.commit("other", "p", 1, true)
		pass(time.Second)
		b.changesURL("a")
		if err := b.d.Follow(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		if n := b.open(); n > 0 {
			t.Errorf("%d of 52 are open 5 s after the change, want none", n)
		}
		b.d.SweepNext()
		b.endpoint("last")
		b.commit("last", "p", 1, true)
		pass(time.Second)
		if b.d.Remembers("a") {
			t.Error("the lane stays when nothing is kept for it any more")
		}
		b.stop()
	})
}
