package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// A soft stop sends what is due; retries wait for the next process.
func TestSoftStopDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			<-time.After(100 * time.Millisecond)
			return deliver.Result{OK: !strings.HasSuffix(d.Event.TweetID, "7")}
		}, func(c *dispatch.Config) { c.LaneQueue = 16 })
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 100, true)
		began := time.Now()
		b.stop()
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("a soft stop took %s", took)
		}
		delivered, retrying := 0, 0
		for _, e := range b.log() {
			switch e.State {
			case deliver.StateDelivered:
				delivered++
			case deliver.StateRetrying:
				retrying++
			}
		}
		if delivered < 90-10 || delivered+retrying < 90 {
			t.Errorf("%d delivered and %d to retry of 100: what was due must be sent before a soft stop ends", delivered, retrying)
		}
	})
}

// A hard stop records no failure that the receiver did not cause, and gives
// everything back at once.
func TestHardStopGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
			<-ctx.Done()
			return deliver.Result{Error: "cancelled"}
		}, nil)
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 50, true)
		pass(time.Second)
		b.cut()
		<-b.done
		if st := b.d.Stats(); st.Handover.Count()+st.Send.Count()+st.Total.Count() > 0 {
			t.Errorf("attempts that were cut are timed: %+v", st)
		}
		for _, e := range b.log() {
			if e.State != deliver.StatePending || len(e.Log) != 0 || e.Due.After(time.Now()) {
				t.Errorf("%s: %s with %d attempts, due in %s: want untouched and due", e.ID, e.State, len(e.Log), time.Until(e.Due))
			}
		}
	})
}
