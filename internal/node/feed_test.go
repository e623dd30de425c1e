package node_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/node"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
)

// last is the number of the last change.
func (w *world) last() uint64 {
	last, err := w.store.Feed().Last(context.Background())
	if err != nil {
		w.t.Error(err)
	}
	return last
}

// behind are those that have not been told of the last change.
func (w *world) behind() (names []string) {
	last := w.last()
	for name, m := range w.nodes {
		w.mu.Lock()
		applied := m.host.applied
		w.mu.Unlock()
		if n := len(applied); n == 0 || applied[n-1] != last {
			names = append(names, name)
		}
	}
	return names
}

// F9
func TestBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 5)
		pass(lease)
		m := w.nodes["n000"]
		barrier := func(what string, least, most time.Duration, slow ...string) {
			t.Helper()
			pass(1234 * time.Millisecond)
			begun := time.Now()
			if err := w.barrier(t.Context(), m); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if behind := w.behind(); !slices.Equal(behind, slow) {
				t.Errorf("%s: returned while %v do not follow, want %v", what, behind, slow)
			}
			if d := time.Since(begun); d < least || d > most {
				t.Errorf("%s: returned after %v, want %v to %v", what, d, least, most)
			}
		}
		set := func(name string, f func(*host)) {
			w.mu.Lock()
			defer w.mu.Unlock()
			f(w.nodes[name].host)
		}
		mute := func(on bool) {
			for _, m := range w.nodes {
				m.wire.mu.Lock()
				m.wire.mute = on
				m.wire.mu.Unlock()
			}
		}
		for range 10 {
			barrier("all are well", 0, 100*time.Millisecond)
		}
		mute(true)
		for range 10 {
			barrier("no signal arrives", 0, 2*time.Second)
		}
		mute(false)
		set("n003", func(h *host) { h.applyIn = 1500 * time.Millisecond })
		barrier("one is slow", 1500*time.Millisecond, 1600*time.Millisecond)
		set("n003", func(h *host) { h.applyIn = 0 })
		set("n000", func(h *host) { h.applyIn = 1500 * time.Millisecond })
		barrier("this one is slow", 1500*time.Millisecond, 1600*time.Millisecond)
		set("n000", func(h *host) { h.applyIn = 0 })

		// One that fails is waited for, and tries again.
		set("n002", func(h *host) { h.refuse = errCut })
		go func() {
			pass(4 * time.Second)
			set("n002", func(h *host) { h.refuse = nil })
		}()
		barrier("one fails for a while", 2700*time.Millisecond, 5*time.Second)

		// One that is cut off is waited for until its term has ended.
		pass(lease)
		w.nodes["n004"].wire.set(cut)
		barrier("one is cut off", 5*time.Second, 12*time.Second, "n004")
		w.nodes["n004"].wire.set(up)
		w.until(20*time.Second, "it comes back", w.even)

		// The context bounds it.
		set("n001", func(h *host) { h.refuse = errCut })
		w.change(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Barrier(ctx); err != context.DeadlineExceeded {
			t.Errorf("returned %v, want %v", err, context.DeadlineExceeded)
		}
		set("n001", func(h *host) { h.refuse = nil })

		// One that joins meanwhile reads all records before it takes any part.
		w.change(t.Context())
		w.start("joins")
		barrier("one joins", 0, time.Second)

		done := make(chan error)
		set("n001", func(h *host) { h.refuse = errCut })
		w.change(t.Context())
		go func() { done <- m.Barrier(context.Background()) }()
		pass(100 * time.Millisecond)
		m.stop()
		if err := <-done; err == nil {
			t.Error("returned nil when the node was stopped")
		}
	})
}

// A node that joins and takes long to read all records holds up no barrier, and polls
// nothing before it follows what one has returned for: the world checks that.
func TestBarrierWhileOneReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		pass(lease)
		for i := range testsize.Of(10, 50, 600) {
			reads := 300*time.Millisecond + time.Duration(7*i)*time.Millisecond
			m := w.startSlow("joins", reads)
			pass(10 * time.Millisecond)
			for range 60 {
				begun := time.Now()
				if err := w.barrier(t.Context(), w.nodes["n000"]); err != nil {
					t.Error(err)
				}
				if d := time.Since(begun); d > 100*time.Millisecond {
					t.Fatalf("a barrier returns after %v while a node reads for %v", d, reads)
				}
				pass(time.Duration(i%10) * time.Millisecond)
			}
			w.until(5*time.Second, "it has its share", w.even)
			m.leave()
			w.until(5*time.Second, "even", w.even)
		}
	})
}

// The same, when no signal reaches who joins.
func TestBarrierJustBeforeOneHasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		pass(lease)
		for i := range 100 {
			m := w.startSlow("joins", 300*time.Millisecond)
			m.wire.mu.Lock()
			m.wire.deaf, m.wire.slow = true, 50*time.Millisecond
			m.wire.mu.Unlock()
			pass(250*time.Millisecond + time.Duration(i)*time.Millisecond)
			if err := w.barrier(t.Context(), w.nodes["n000"]); err != nil {
				t.Error(err)
			}
			w.until(5*time.Second, "it has its share", w.even)
			m.leave()
			w.until(5*time.Second, "even", w.even)
		}
	})
}

// Barriers share looks: a thousand callers cost no more than some.
func TestBarriersShareLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 3)
		pass(lease)
		done := make(chan error)
		for i := range 1000 {
			go func() {
				id := fmt.Sprint("many", i)
				if err := w.store.Monitors().Create(context.Background(), monitor.Monitor{ID: id, Owner: "o", Name: id, CreatedAt: time.Now()}); err != nil {
					t.Error(err)
				}
				done <- w.nodes["n000"].Barrier(context.Background())
			}()
		}
		looks := w.nodes["n000"].wire.count()
		begun := time.Now()
		for range 1000 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := w.nodes["n000"].wire.count() - looks; n > 50 {
			t.Errorf("1,000 barriers took %d calls to the store, want at most 50", n)
		}
		if d := time.Since(begun); d > 200*time.Millisecond {
			t.Errorf("1,000 barriers took %v, want 200ms", d)
		}
	})
}

func TestFeedWithoutSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 3)
		for i := range 100 {
			pass(time.Second + time.Duration(i)*37*time.Millisecond)
			w.change(t.Context())
			w.until(1100*time.Millisecond, "all follow", func() bool { return len(w.behind()) == 0 })
		}
	})
}

// The feed is longer than what is kept: all records are read.
func TestFeedTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		m := w.nodes["n001"]
		m.wire.set(cut)
		for i := range 40_000 {
			id := fmt.Sprint("m", i)
			if err := w.store.Monitors().Create(context.Background(), monitor.Monitor{ID: id, Owner: "o", Name: id, CreatedAt: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		pass(3 * time.Second)
		m.wire.set(up)
		w.until(10*time.Second, "all records are read", func() bool { return m.State().Applied == 40_000 })
		w.mu.Lock()
		defer w.mu.Unlock()
		if m.host.rereads != 2 || len(m.host.applied) > 0 {
			t.Errorf("Reread was called %d times, and %d changes were followed; want 2 and 0", m.host.rereads, len(m.host.applied))
		}
	})
}

// The store has lost its last writes: the epoch is told, and all records are read.
func TestEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		m := w.nodes["n000"]
		m.LostTail()
		w.until(time.Second, "the epoch is told", func() bool { return m.State().Epoch != 0 })
		pass(lease)
		epoch := m.State().Epoch
		for _, m := range w.nodes {
			w.mu.Lock()
			if !slices.Equal(m.host.epochs, []uint64{0, epoch}) || m.host.rereads != 2 {
				t.Errorf("%s: epochs %v, Reread called %d times; want 0 and %d, 2 times", m.name, m.host.epochs, m.host.rereads, epoch)
			}
			w.mu.Unlock()
		}
	})
}

func TestSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		pass(lease)
		a, b := w.nodes["n000"], w.nodes["n001"]
		until := time.Now().Add(time.Minute)
		begun := time.Now()
		for i := range 100 {
			a.Send(fleet.Signal{Kind: fleet.SignalDue, Parts: []fleet.Part{fleet.Part(i), 7}})
			a.Send(fleet.Signal{Kind: fleet.SignalHead, Key: "o", N: uint64(100 - i)})
			a.Send(fleet.Signal{Kind: fleet.SignalClosed, Key: "k", Until: until})
		}
		w.until(100*time.Millisecond, "the signals arrive", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(b.host.signals) == 3
		})
		if d := time.Since(begun); d > 15*time.Millisecond {
			t.Errorf("the signals come after %v", d)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		got := map[fleet.SignalKind]fleet.Signal{}
		for _, s := range b.host.signals {
			got[s.Kind] = s
			if s.Term != a.Fence().Term {
				t.Errorf("%+v is not from this term", s)
			}
		}
		if n := len(got[fleet.SignalDue].Parts); n != 100 {
			t.Errorf("%d parts are due, want 100 in one signal", n)
		}
		if got[fleet.SignalHead].N != 100 || !got[fleet.SignalClosed].Until.Equal(until) {
			t.Errorf("head and closed: %+v", got)
		}
		if n := len(a.host.signals); n > 0 {
			t.Errorf("a node hears %d of its own signals", n)
		}
	})
}

// So many owners that all nodes look instead.
func TestSignalsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		pass(lease)
		a, b := w.nodes["n000"], w.nodes["n001"]
		for i := range 5000 {
			a.Send(fleet.Signal{Kind: fleet.SignalHead, Key: fmt.Sprint(i), N: 1})
		}
		pass(3 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		looks := 0
		for _, s := range b.host.signals {
			if s.Kind == fleet.SignalLook {
				looks++
			}
		}
		if looks == 0 || len(b.host.signals) > 1000 {
			t.Errorf("of 5,000 heads came %d signals, %d of them look; want at most 1,000 and one", len(b.host.signals), looks)
		}
	})
}

func TestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		fleetOf(w, 2)
		a, b := w.nodes["n000"], w.nodes["n001"]
		pass(lease)
		st := a.State()
		if a.Members() != 2 || len(st.Members) != 2 || !st.Trusted || st.Free != 0 || st.Parts != a.Parts() || st.Fence != a.Fence() {
			t.Fatalf("%+v", st)
		}
		of := map[string]node.Member{}
		// Of two beats of the other one may fall between two of its own, each up to 2.75 s apart.
		const most = 2 * 2750 * time.Millisecond
		for _, m := range st.Members {
			of[m.Node.Name] = m
			if !m.Living || m.Silent > most {
				t.Errorf("%s lives, and is shown as %v, silent for %v", m.Node.Name, m.Living, m.Silent)
			}
		}
		if of["n001"].Parts != b.Parts() {
			t.Errorf("n001 is shown as %+v", of["n001"])
		}
		for p := range b.Parts().All() {
			if a.NameOf(p) != "n001" {
				t.Fatalf("part %d is shown as of %q, want n001", p, a.NameOf(p))
			}
		}
	})
}
