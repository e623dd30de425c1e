package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// A dispatcher that has sent to many endpoints forgets those that stand idle, and none that still
// has something to lose: see TestLaneIsIdleWhenNothingWouldBeLost.
func TestIdleLanesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = 100
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			return deliver.Result{OK: d.EndpointID != "fails"}
		}, nil)
		b.run()
		send := func(id string, lanes int64) {
			t.Helper()
			if !b.d.Remembers(id) && id != "idle0" {
				b.endpoint(id)
			}
			b.commit(id, fmt.Sprint(time.Now().UnixNano()), 1, true)
			pass(time.Millisecond)
			if got := b.d.Stats().Lanes; got != lanes {
				t.Errorf("%d lanes after a delivery to %q, want %d", got, id, lanes)
			}
		}
		send("fails", 1)
		b.endpoint("idle0")
		send("idle0", 2)
		for i := 1; i < idle; i++ {
			send(fmt.Sprint("idle", i), int64(i)+2)
		}
		if got := b.d.SweepNext(); got != 65_536 {
			t.Errorf("idle lanes are looked for at %d lanes, want 65536", got)
		}
		send("new", 2)
		if !b.d.Remembers("fails") {
			t.Error("the lane that has failed was forgotten")
		}
		send("idle0", 3) // made again; few lanes: no sweep
		b.stop()
		if st := b.d.Stats(); st.Delivered != idle+2 {
			t.Errorf("%d deliveries arrived, want %d", st.Delivered, idle+2)
		}
	})
}
