package streamwatch_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// reasonOf is the status reason of a monitor.
func (w *fleetWorld) reasonOf(m monitor.Monitor) string {
	w.t.Helper()
	stored, err := w.store.Monitors().Get(w.t.Context(), m.Owner, m.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return stored.StatusReason
}

// What fails on one node is told although another one writes that all is well on it.
func TestFleetTellsWhatFailsAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		nodes := w.start("a", "b")
		pass(10 * time.Second)
		gone := enginetest.AccountNames(1)
		for _, name := range gone {
			w.platform.SetSuspended(name, true)
		}
		m := create(t, nodes[0].Engine, monitor.CreateRequest{Name: "m", Usernames: gone, PollInterval: w.interval})
		pass(time.Minute)
		for _, n := range nodes {
			n.Monitors().Report(m.Owner, m.ID, "aaa", errors.New("gone for a moment"))
			pass(2 * time.Second)
			n.Monitors().Report(m.Owner, m.ID, "aaa", nil)
			pass(2 * time.Second)
			for _, other := range nodes {
				got, err := other.Monitors().Get(t.Context(), m.Owner, m.ID)
				if err != nil || !strings.Contains(got.StatusReason, "@"+gone[0]) {
					t.Errorf("after %s has recovered %s shows %q, %v", n.name, other.name, got.StatusReason, err)
				}
			}
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// When another node polls an account that has recovered, the one that polled it before
// says nothing of it any more.
func TestFleetForgetsWhatFailedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		one := w.start("a")[0]
		pass(10 * time.Second)
		gone := enginetest.AccountNames(8)
		for _, name := range gone {
			w.platform.SetSuspended(name, true)
		}
		m := create(t, one.Engine, monitor.CreateRequest{Name: "m", Usernames: gone, PollInterval: w.interval})
		pass(time.Minute)
		if got := w.reasonOf(m.Monitor); !strings.Contains(got, "(and 7 more)") {
			t.Fatalf("reason %q, want that of 8 accounts", got)
		}
		two := w.start("b")[0]
		pass(time.Minute)
		for _, name := range gone {
			w.platform.SetSuspended(name, false)
		}
		pass(5 * time.Minute)
		if got := w.reasonOf(m.Monitor); got != "" {
			t.Errorf("reason %q of accounts that are all there", got)
		}
		one.Monitors().Report(m.Owner, m.ID, "aaa", errors.New("gone for a moment"))
		pass(2 * time.Second)
		if got := w.reasonOf(m.Monitor); strings.Contains(got, "more") {
			t.Errorf("%q: want nothing of what another node polls", got)
		}
		one.stop()
		two.stop()
	})
}
