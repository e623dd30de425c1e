package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// The store has another generation than the one that a commit carried.
func TestMoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		pass(lease)
		m := w.nodes["n000"]
		was := m.Fence()
		if _, ok := m.Moved(t.Context(), was); ok {
			t.Error("the fence is the same, and said to be another")
		}
		// The store takes a beat of which the node hears nothing: the next one tells.
		w.nodes["n001"].leave()
		b := fleet.Beat{Fence: was, Want: fleet.Parts, Weight: 1}
		if _, err := w.store.Ports().Members.Beat(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.until(lease/2, "the fence is known", func() bool { return m.Fence() != was })
		now, ok := m.Moved(t.Context(), was)
		if !ok || now.Term != was.Term || now.Generation <= was.Generation || now != m.Fence() {
			t.Errorf("after another generation: %v, %v; had %v", now, ok, was)
		}
		// The term is ended by somebody.
		if err := w.store.Ports().Members.Leave(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Moved(t.Context(), now); ok {
			t.Error("the term has ended, and its commit is to be tried again")
		}
		w.until(5*time.Second, "it begins anew", w.covered)
		// Its context bounds it.
		m.wire.set(hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, ok := m.Moved(ctx, m.Fence()); ok {
			t.Error("true without an answer")
		}
		m.wire.set(up)
	})
}

// A commit is refused while the answer of the beat that has changed the fence is on its way.
func TestMovedWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		pass(lease)
		m := w.nodes["n000"]
		was := m.Fence()
		m.wire.lock(func(l *wire) { l.late = 300 * time.Millisecond })
		w.nodes["n001"].leave()
		w.until(2*time.Second, "the store has taken the beat", func() bool {
			st, err := w.store.Ports().Members.Look(t.Context())
			return err == nil && st.Free == 0
		})
		if m.Fence() != was || m.count() != fleet.Parts/2 {
			t.Fatal("the answer has come")
		}
		beats := m.wire.taken()
		begun := time.Now()
		if now, ok := m.Moved(t.Context(), was); !ok || now.Generation <= was.Generation || now != m.Fence() {
			t.Errorf("%v, %v; had %v", now, ok, was)
		}
		if d := time.Since(begun); d > 320*time.Millisecond || m.wire.taken() != beats {
			t.Errorf("after %v and %d more beats, want when the one under way has ended", d, m.wire.taken()-beats)
		}
	})
}

// The lease is counted from before a beat was sent, however late its answer comes.
func TestTrust(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.start("a")
		w.until(lease, "all is polled", w.covered)
		for _, late := range []time.Duration{0, 2 * time.Second} {
			pass(lease)
			beats := m.wire.taken()
			m.wire.lock(func(l *wire) { l.late = late })
			w.until(lease, "a beat is sent", func() bool { return m.wire.taken() > beats })
			sent := time.Now()
			pass(late + 20*time.Millisecond)
			m.wire.set(cut)
			m.wire.lock(func(l *wire) { l.late = 0 })
			w.until(2*lease, "it is held", func() bool { return !m.State().Trusted && !w.covered() })
			if d := time.Since(sent); d < 8700*time.Millisecond || d > 8800*time.Millisecond {
				t.Errorf("held %v after the last beat was sent, want 8.75s", d)
			}
			m.wire.set(up)
			w.until(2*time.Second, "it goes on", w.covered)
		}
	})
}

// A beat of before arrives late, and takes parts from the term: the node begins anew
// instead of going on with them.
func TestLateBeat(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.start("a")
		w.until(lease, "all is polled", w.covered)
		pass(lease)
		was := m.Fence()
		if _, err := w.store.Ports().Members.Beat(t.Context(), fleet.Beat{Fence: was, Give: fleet.SetOf(1, 2, 3), Weight: 1}); err != nil {
			t.Fatal(err)
		}
		other, err := w.store.Ports().Members.Join(t.Context(), fleet.Node{Name: "other", Weight: 1e-9, Lease: lease})
		if err == nil {
			_, err = w.store.Ports().Members.Beat(t.Context(), fleet.Beat{Fence: other.Fence, Want: 3, Weight: 1e-9})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Moved(t.Context(), was); ok {
			t.Error("a commit is to be tried again, though parts were taken that the node did not give")
		}
		w.until(lease, "it begins anew", func() bool { return m.Fence().Term != was.Term && m.count() == fleet.Parts-3 })
		if m.lost() != 1 {
			t.Errorf("Lost was called %d times, want once", m.lost())
		}
	})
}

// The store has lost its last writes, and the generation with them: the node begins
// anew, though its term is there.
func TestGenerationLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		m := w.nodes["n000"]
		was := m.Fence()
		m.wire.lock(func(l *wire) { l.refuse = fleet.ErrFenced })
		w.until(lease, "its term has ended", func() bool { return m.lost() > 0 })
		m.wire.set(cut)
		pass(lease)
		m.wire.set(up)
		w.until(lease, "it begins anew", func() bool { return w.even() && m.Fence().Term != was.Term })
	})
}
