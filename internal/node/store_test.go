package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

func TestStoreOutage(t *testing.T) {
	for name, how := range map[string]wireState{"calls fail": cut, "calls hang": hangs, "calls hang beyond their time": frozen} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				fleetOf(w, 4)
				for i := range 5 {
					pass(lease + time.Duration(i)*700*time.Millisecond)
					terms := map[string]fleet.Fence{}
					for name, m := range w.nodes {
						terms[name] = m.Fence()
						m.wire.set(how)
					}
					pass(9 * time.Second)
					for name, m := range w.nodes {
						held := false
						if m.host.lock(func() { held = m.host.held }); !held || m.State().Trusted {
							t.Errorf("%s is not held 9s after the store was reached last", name)
						}
					}
					pass(21 * time.Second)
					for _, m := range w.nodes {
						m.wire.set(up)
					}
					w.until(5*time.Second, "all go on", w.covered)
					pass(3 * lease)
					for name, m := range w.nodes {
						if got := m.Fence(); got != terms[name] {
							t.Errorf("%s: the fence is %v after an outage, want %v as before", name, got, terms[name])
						}
					}
				}
			})
		})
	}
}

// One node is cut off while the others are not: it is held before they have its parts,
// which the world checks, and begins anew.
func TestCutOff(t *testing.T) {
	for name, how := range map[string]wireState{"calls fail": cut, "calls hang": hangs, "the process stands still": frozen} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				fleetOf(w, 3)
				for i := range 10 {
					pass(2*lease + time.Duration(i)*300*time.Millisecond)
					m := w.nodes["n001"]
					before := m.Fence()
					gives := 0
					m.host.lock(func() { gives = m.host.gives })
					m.wire.set(how)
					begun := time.Now()
					pass(lease - 1250*time.Millisecond)
					w.until(5*time.Second, "the others have its parts", w.covered)
					if d := time.Since(begun); d > 12*time.Second {
						t.Errorf("its parts are polled after %v, want 12s", d)
					}
					pass(lease)
					m.wire.set(up)
					w.until(10*time.Second, "it has its share again", w.even)
					if now := m.Fence(); now.Term == before.Term {
						t.Error("the term is the same, though its parts were others'")
					}
					w.mu.Lock()
					if m.host.gives != gives {
						t.Error("parts were given back that are others' already")
					}
					if m.host.losses != i+1 {
						t.Errorf("Host.Lost was called %d times, want %d", m.host.losses, i+1)
					}
					w.mu.Unlock()
				}
			})
		})
	}
}

func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				fleetOf(w, 4)
				terms := map[string]string{}
				for name, m := range w.nodes {
					terms[name] = m.Fence().Term
				}
				for i := range 20 {
					pass(time.Duration(3000+i*170) * time.Millisecond)
					w.ahead.Add(int64(jump))
				}
				pass(3 * lease)
				for name, m := range w.nodes {
					if m.Fence().Term != terms[name] {
						t.Errorf("the term of %s was ended by a clock", name)
					}
				}
				// A dead one is still ended.
				w.nodes["n002"].kill()
				begun := time.Now()
				pass(time.Second)
				w.ahead.Add(int64(jump))
				w.until(time.Minute, "its parts are taken", w.covered)
				if d := time.Since(begun); d > 2*lease {
					t.Errorf("a dead node's parts are polled after %v, want two leases", d)
				} else {
					t.Logf("a dead node's parts are polled after %v", d)
				}
			})
		})
	}
}

func TestOneName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start("a")
		earlier := w.start("b")
		w.until(10*time.Second, "even", w.even)
		delete(w.nodes, "b")
		earlier.host.lock(func() { earlier.host.twin = true })
		later := w.start("b")
		w.until(500*time.Millisecond, "the earlier one hears of it", func() bool { return earlier.count() == 0 })
		w.until(10*time.Second, "the later one has the share", w.even)
		pass(3 * lease)
		if n := later.count(); n != fleet.Parts/2 {
			t.Errorf("the later one has %d parts, want half of all", n)
		}
		if len(earlier.host.epochs) != 1 || later.lost() != 0 || earlier.lost() != 1 {
			t.Errorf("the earlier one has joined %d times and was ended %d times, the later %d; want 1, 1 and 0",
				len(earlier.host.epochs), earlier.lost(), later.lost())
		}
		if n := w.logged("another engine has joined the fleet under this node's name"); n != 1 {
			t.Errorf("logged %d times, want once as an error", n)
		}
		if w.logged("level=ERROR msg=\"another engine") != 1 || w.logged("level=WARN msg=\"a node of this name") != 1 {
			t.Error("both should log it")
		}
		if _, ok := earlier.Moved(t.Context(), earlier.Fence()); ok {
			t.Error("a commit of the earlier one is to be tried again")
		}
		// When the name is free again, the earlier one goes on.
		later.leave()
		w.nodes["b"] = earlier
		earlier.host.lock(func() { earlier.host.twin = false })
		w.until(2*lease, "the earlier one has the share", w.even)
	})
}

func TestAllDie(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 3)
		for _, m := range []string{"n000", "n001", "n002"} {
			w.nodes[m].kill()
		}
		pass(100 * time.Millisecond)
		for i := range 3 {
			w.start(fmt.Sprintf("n%03d", i))
		}
		d := w.until(time.Minute, "all is polled", w.covered)
		t.Logf("after %v", d)
		if d > 1500*time.Millisecond {
			t.Errorf("all is polled after %v, want 1.5s", d)
		}
	})
}

func TestLostAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		lose := func(n int) {
			for _, m := range w.nodes {
				m.wire.lock(func(l *wire) { l.lost = n })
			}
		}
		for range 10 {
			lose(2)
			m := w.start("c")
			m.wire.lock(func(l *wire) { l.lost = 2 })
			w.until(20*time.Second, "even", w.even)
			lose(2)
			m.leave()
			w.until(20*time.Second, "even", w.even)
			lose(1)
			pass(lease)
		}
		for _, m := range w.nodes {
			if m.lost() > 0 {
				t.Errorf("%s began anew because an answer was lost", m.name)
			}
		}
	})
}

// A node that takes long to give keeps its term meanwhile.
func TestSlowStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		pass(lease)
		m := w.nodes["n000"]
		m.host.lock(func() { m.host.giveFor = 3 * lease })
		begun := time.Now()
		go func() {
			pass(2 * lease)
			if !w.covered() {
				t.Error("parts are not polled while they are given")
			}
		}()
		m.leave()
		if d := time.Since(begun); d < 3*lease {
			t.Errorf("left after %v, want when all was given", d)
		}
		w.until(2*time.Second, "the other has all", w.covered)
		if m.lost() > 0 {
			t.Error("the term was ended meanwhile")
		}
	})
}

// A node whose term ends while it gives stops its work, and has left.
func TestStopAfterTheTerm(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		m := w.nodes["n000"]
		m.host.lock(func() { m.host.giveFor, m.host.twin = lease, true })
		if err := w.store.Ports().Members.Leave(t.Context(), m.Fence()); err != nil {
			t.Fatal(err)
		}
		m.leave()
		if err := m.Leave(t.Context()); err != nil || m.lost() != 1 || m.count() != 0 {
			t.Errorf("Leave again: %v; Lost was called %d times, %d parts; want once and none", err, m.lost(), m.count())
		}
	})
}

// A node that cannot give does not say that it has.
func TestStopThatFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		m := w.nodes["n000"]
		m.host.lock(func() { m.host.giveFor = time.Hour })
		m.stop()
		<-m.ran
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Leave(ctx); err == nil {
			t.Error("Leave returned nil, though nothing was given")
		}
		st, err := w.store.Ports().Members.Look(t.Context())
		if err != nil || len(st.Members) != 2 || st.Free > 0 {
			t.Errorf("%d members, %d parts free, %v; want 2 and 0", len(st.Members), st.Free, err)
		}
		m.bury()
		w.until(12*time.Second, "the other has all", w.covered)
	})
}

// The host cannot do what it is told for a while: nothing is given that it has not
// given.
func TestHostRefuses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		for _, m := range w.nodes {
			m.host.lock(func() { m.host.refuse = errCut })
		}
		m := w.start("c")
		pass(2 * lease)
		if n := m.count(); n > 0 {
			t.Errorf("it has %d parts, which nobody gave", n)
		}
		for _, m := range w.nodes {
			m.host.lock(func() { m.host.refuse = nil })
		}
		w.until(5*time.Second, "even", w.even)
	})
}
