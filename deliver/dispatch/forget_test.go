package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// A dispatcher that has sent to many endpoints forgets those that stand idle, and
// none that still has something to lose.
func TestIdleLanesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = 100
		hang := make(chan struct{})
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			switch d.EndpointID {
			case "hangs":
				<-hang
			case "fails":
				return deliver.Result{StatusCode: 500, Error: "status 500"}
			case "asks":
				return tooMany(time.Second)
			}
			return deliver.Result{OK: true, StatusCode: 200}
		}, nil)
		var busy = []string{"hangs", "fails", "asks", "limited"}
		for i := range idle {
			b.endpoint(fmt.Sprint("idle", i))
		}
		for _, id := range append(busy, "new", "newer") {
			b.endpoint(id)
		}
		b.change("limited", func(e *deliver.Endpoint) { e.Limits = deliver.Limits{Rate: 0.01, Burst: 2} })
		b.run()
		for i := range idle {
			b.commit(fmt.Sprint("idle", i), "p", 1, true)
		}
		for _, id := range busy {
			b.commit(id, "p", 1, true)
		}
		pass(time.Second)
		if got := b.d.Stats().Lanes; got != idle+int64(len(busy)) {
			t.Fatalf("%d lanes after the first deliveries, want %d", got, idle+len(busy))
		}
		sweep := func(by string, left int64) {
			t.Helper()
			if got := b.d.SweepNext(); got != 65_536 {
				t.Errorf("idle lanes are looked for at %d lanes, want 65536", got)
			}
			b.commit(by, "p", 1, true)
			pass(time.Millisecond)
			if got := b.d.Stats().Lanes; got != left {
				t.Errorf("%d lanes when %q came, want %d", got, by, left)
			}
		}
		sweep("new", int64(len(busy))+1)
		for _, id := range busy {
			if !b.d.Remembers(id) {
				t.Errorf("the lane of %q was forgotten", id)
			}
		}
		b.commit("idle0", "again", 1, true) // a lane made again works
		close(hang)
		pass(time.Hour) // "fails" and "asks" have failed for good; the others rest
		sweep("newer", 3)
		for i, id := range append(busy, "new", "idle0") {
			if got, want := b.d.Remembers(id), i == 1 || i == 2; got != want {
				t.Errorf("the lane of %q is remembered: %v, want %v", id, got, want)
			}
		}
		b.commit("idle1", "last", 1, true) // few lanes: no sweep
		pass(time.Millisecond)
		if got := b.d.Stats().Lanes; got != 4 {
			t.Errorf("%d lanes after one more, want 4", got)
		}
		b.stop()
		sent := 0
		for _, e := range b.log() {
			if e.State == deliver.StateDelivered {
				sent++
			}
		}
		if want := idle + 2 + 4; sent != want { // of busy two, and four later ones
			t.Errorf("%d deliveries arrived, want %d", sent, want)
		}
	})
}
