package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// Who waits for a change is told at once that it is followed, also when changes that somebody
// had waited for were lost with the store's last writes.
func TestBarrierAfterLostWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		m := w.nodes["n000"]
		if err := w.store.Signals().Send(t.Context(), fleet.Signal{Kind: fleet.SignalChanged, N: 1000}); err != nil {
			t.Fatal(err)
		}
		pass(lease)
		m.LostTail()
		w.until(time.Second, "the epoch is told", func() bool { return m.State().Epoch != 0 })
		pass(lease)
		began := time.Now()
		if err := w.barrier(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the barrier returns after %s, want 100ms at most, as when all is well", took)
		}
	})
}
