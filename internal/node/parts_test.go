package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

func fleetOf(w *world, n int) {
	w.t.Helper()
	for i := range n {
		w.start(fmt.Sprintf("n%03d", i))
	}
	w.until(time.Minute, "the parts are shared out", w.even)
}

func TestAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.start("a")
		if d := w.until(time.Minute, "a lone node has all", w.covered); d > 500*time.Millisecond {
			t.Errorf("after %v, want 500ms", d)
		}
		pass(time.Second)
		if g := m.State().Grants["calls"]; g != total {
			t.Errorf("a lone node is granted %v, want all: %v", g, total)
		}
	})
}

func TestPlannedStop(t *testing.T) {
	for _, n := range []int{2, 3, 10} {
		inWorld(t, func(t *testing.T, w *world) {
			fleetOf(w, n)
			for range 10 {
				m := w.nodes["n000"]
				begun := time.Now()
				m.leave()
				w.until(time.Minute, "the others have the parts", w.covered)
				if lost := w.orphans(); lost.Len() > 0 {
					t.Errorf("%d parts are orphans that were given", lost.Len())
				}
				if d := time.Since(begun); d > 2*time.Second {
					t.Errorf("of %d nodes one stops: its parts are polled after %v, want 2s", n, d)
				}
				w.until(10*time.Second, "even", w.even)
				w.start("n000")
				w.until(10*time.Second, "even", w.even)
				pass(time.Second)
			}
		})
	}
}

func TestJoinMoves(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 10, 30}[:testsize.Of(4, 6, 6)] {
		for _, mute := range []bool{false, true} {
			inWorld(t, func(t *testing.T, w *world) {
				fleetOf(w, n)
				pass(3 * lease)
				moved := func() (sum int) {
					w.mu.Lock()
					defer w.mu.Unlock()
					for _, h := range w.hosts {
						sum += h.begun
					}
					return sum
				}
				before := moved()
				if mute {
					for _, m := range w.nodes {
						m.wire.lock(func(l *wire) { l.mute = true })
					}
				}
				m := w.start("joins")
				share := fleet.Parts / (n + 1)
				d := w.until(time.Minute, "its share is there", func() bool { return w.even() && m.count() >= share })
				beats := m.wire.taken()
				if beats > 6 {
					t.Errorf("%d nodes, one joins: %d beats, want at most 6", n, beats)
				}
				pass(3 * lease)
				if got, most := moved()-before, (fleet.Parts+n)/(n+1); got > most {
					t.Errorf("%d nodes, one joins: %d parts moved, want at most %d", n, got, most)
				}
				w.mu.Lock()
				if m.host.most > fleet.Parts/4 {
					t.Errorf("%d nodes, one joins: it takes up to %d parts at once, want a quarter of all", n, m.host.most)
				}
				w.mu.Unlock()
				for _, other := range w.nodes {
					for _, b := range other.wire.sent() {
						if b.Give.Len() > fleet.Parts/4 {
							t.Errorf("%d parts are given at once, want a quarter of all", b.Give.Len())
						}
					}
				}
				if !w.even() {
					t.Errorf("%d nodes, one joins: the busiest has more than its share", n)
				}
				t.Logf("%d nodes, one joins (no signals: %v): %d beats, %v", n, mute, beats, d)
			})
		}
	}
}

func TestCrash(t *testing.T) {
	for _, n := range []int{2, 3, 10} {
		worst := time.Duration(0)
		inWorld(t, func(t *testing.T, w *world) {
			fleetOf(w, n)
			for i := range testsize.Of(6, 15, 30) {
				pass(3*lease + time.Duration(i)*100*time.Millisecond)
				begun := time.Now()
				parts := w.nodes["n001"].Parts()
				w.nodes["n001"].kill()
				w.until(time.Minute, "the others have the parts", w.covered)
				if lost, again := w.orphans(), w.orphans(); lost != parts || again.Len() > 0 {
					t.Errorf("%d parts are orphans, and %d again, want the %d of the one that died, once", lost.Len(), again.Len(), parts.Len())
				}
				if d := time.Since(begun); d > 12*time.Second {
					t.Errorf("of %d nodes one dies: its parts are polled after %v, want 12s", n, d)
				} else {
					worst = max(worst, d)
				}
				w.start("n001")
				w.until(10*time.Second, "even", w.even)
			}
		})
		t.Logf("%d nodes: at most %v", n, worst)
	}
}

func TestHundred(t *testing.T) {
	nodes := testsize.Of(50, 100, 100)
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, nodes)
		pass(3 * lease)
		parts, nobody := w.owners()
		least, most := fleet.Parts, 0
		for _, n := range parts {
			least, most = min(least, n), max(most, n)
		}
		// A fleet in which nothing happens beats, and does no more. The wire counts a beat twice.
		calls := func() (sum int) {
			for _, m := range w.nodes {
				sum += m.wire.count()
			}
			return sum
		}
		before := calls()
		pass(time.Minute)
		if n, want := float64(calls()-before)/60, float64(nodes)*2/2.5; n > 1.05*want {
			t.Errorf("%d nodes make %.0f calls a second, want %.0f", nodes, n, want)
		}
		if share := fleet.Parts / nodes; most > share+1 || least < share || nobody > 0 {
			t.Errorf("%d nodes have %d to %d parts, want %d to %d; of nobody %d", nodes, least, most, share, share+1, nobody)
		}
	})
}
