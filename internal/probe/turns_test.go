package probe_test

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestTurns(t *testing.T) {
	w := newWorld(1, 100, 0)
	turns := 0
	for range 1000 {
		if w.sweep.Turn(w.clock()) {
			turns++
		}
	}
	if want := 1000 * w.health.Share(); math.Abs(float64(turns)-want) > 2 {
		t.Errorf("%d of 1,000 calls are probes, want %.0f", turns, want)
	}
	if w.sweep.SetRate(1, w.clock()); w.sweep.Due(w.clock() + int64(time.Hour)) {
		t.Error("probes that share calls are due by themselves")
	}
	w.err = errors.New("no")
	w.call()
	if share, speedup := w.health.Share(), w.health.Speedup(); share != 0 || speedup != 1 {
		t.Errorf("a Prober that fails has a share of %.3f, for %.3f of the mean", share, speedup)
	}
	if w.sweep.Turn(w.clock()) || !w.sweep.Turn(w.clock()+int64(time.Second)) {
		t.Error("a Prober that failed is not tried again after the wait, or before it")
	}
	w.err = nil
	if w.call(); w.health.Share() == 0 {
		t.Error("a Prober that works again has no share")
	}
	own := newWorld(1, 100, 2)
	if own.sweep.Turn(own.clock()) || !own.sweep.Due(own.clock()) {
		t.Error("probes with a rate of their own take turns with polls")
	}
	own.call()
	if own.sweep.Due(own.clock()) || !own.sweep.Due(own.clock()+int64(500*time.Millisecond)) {
		t.Error("two calls a second are not half a second apart")
	}
	own.ready[0] = false
	if own.call(); own.sweep.NextAt() != own.clock()+int64(time.Second) {
		t.Error("without accounts the next call is not in a second")
	}
}

// Accounts whose marks have changed are polled with the next calls, 10 at most, and
// then the probes make up for these, and for no more.
func TestChangesGoBeforeProbes(t *testing.T) {
	changed := func(w *world, n int) {
		for i := range n {
			w.marks[i]++
		}
		w.call()
	}
	for _, row := range []struct{ changed, polls int }{{0, 0}, {1, 1}, {3, 3}, {50, 10}} {
		w := newWorld(100, 100, 0)
		w.call()
		share := 0.0
		turn := func() bool {
			probe := w.sweep.Turn(w.clock())
			share += w.health.Share()
			return probe
		}
		turn() // a probe would be next
		changed(w, row.changed)
		polls, probes := 0, 1
		for !turn() {
			polls++
		}
		if polls != row.polls {
			t.Errorf("%d polls before the next probe after %d changes, want %d", polls, row.changed, row.polls)
		}
		for range 100 {
			if turn() {
				probes++
			}
		}
		if math.Abs(float64(probes)-share) > 1 {
			t.Errorf("%d of %d calls after %d changes are probes, want %.0f", probes, 101+polls, row.changed, share)
		}
	}
	w := newWorld(100, 100, 0)
	w.call()
	share := w.health.Share()
	for range 5 {
		changed(w, 10)
		for range 10 {
			if w.sweep.Turn(w.clock()) {
				t.Fatal("a probe goes before an account that has changed")
			}
		}
	}
	if got := w.health.Share(); got > 0.95*share {
		t.Errorf("the probes' share is %.3f, want less than the %.3f of before: these polls took it", got, share)
	}
	probes := 0
	for w.sweep.Turn(w.clock()) {
		probes++
	}
	if probes < 10 || probes > 40 {
		t.Errorf("%d probes in a row after 50 polls, want those for 10 of them", probes)
	}
}
