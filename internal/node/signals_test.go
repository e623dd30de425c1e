package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// Signals of one kind that wait are joined to one, and come to the other nodes alone.
func TestSignals(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deaf = 2
		fleetOf(w, 2)
		pass(lease)
		a, b := w.nodes["n000"], w.nodes["n001"]
		until := time.Now().Add(time.Minute)
		var parts []fleet.Part
		for i := range 100 {
			parts = append(parts, fleet.Part(i))
			a.Send(fleet.Signal{Kind: fleet.SignalChanged})
			a.Send(fleet.Signal{Kind: fleet.SignalDue, Parts: []fleet.Part{fleet.Part(i), 7}})
			a.Send(fleet.Signal{Kind: fleet.SignalHead, Key: "o", N: uint64(100 - i)})
			a.Send(fleet.Signal{Kind: fleet.SignalClosed, Key: "k", Until: until.Add(-time.Duration(i))})
		}
		pass(20 * time.Millisecond)
		term := a.Fence().Term
		want := []fleet.Signal{{Kind: fleet.SignalChanged}, {Kind: fleet.SignalClosed, Key: "k", Until: until},
			{Kind: fleet.SignalDue, Parts: parts}, {Kind: fleet.SignalHead, Key: "o", N: 100}}
		w.mu.Lock()
		got, own := b.host.signals, a.host.signals
		w.mu.Unlock()
		if len(got) != len(want) || len(own) > 0 {
			t.Fatalf("the other node heard %+v, the sender %+v; want %+v and none", got, own, want)
		}
		for i, s := range got {
			if s.Kind != want[i].Kind || s.Key != want[i].Key || s.N != want[i].N || !s.Until.Equal(want[i].Until) || !slices.Equal(s.Parts, want[i].Parts) || s.Term != term {
				t.Errorf("heard %+v, want %+v of the term %s", s, want[i], term)
			}
		}
	})
}

// More heads than fit are replaced by one hint to look.
func TestSignalsHaveABound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		pass(lease)
		a, b := w.nodes["n000"], w.nodes["n001"]
		for i := range 5000 {
			a.Send(fleet.Signal{Kind: fleet.SignalHead, Key: fmt.Sprint(i), N: 1})
		}
		pass(3 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		looks := slices.ContainsFunc(b.host.signals, func(s fleet.Signal) bool { return s.Kind == fleet.SignalLook })
		if !looks || len(b.host.signals) > 1000 {
			t.Errorf("of 5,000 heads came %d signals, with one to look: %v; want at most 1,000 and one", len(b.host.signals), looks)
		}
	})
}

// A store that has lost its last writes begins another epoch, which all nodes hear of.
func TestEpoch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		m := w.nodes["n000"]
		beats := m.wire.taken()
		w.until(lease, "a beat is sent", func() bool { return m.wire.taken() > beats })
		m.LostTail()
		w.until(300*time.Millisecond, "the epoch is told", func() bool { return m.State().Epoch != 0 })
		pass(lease)
		want := []uint64{0, m.State().Epoch}
		late := w.start("late")
		pass(lease)
		late.host.lock(func() {
			if !slices.Equal(late.host.epochs, want[1:]) {
				t.Errorf("one that joins was told the epochs %v, want %v", late.host.epochs, want[1:])
			}
		})
		late.leave()
		for _, m := range w.nodes {
			m.host.lock(func() {
				if !slices.Equal(m.host.epochs, want) {
					t.Errorf("%s was told the epochs %v, want %v", m.name, m.host.epochs, want)
				}
			})
		}
	})
}

func TestState(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		a, b := w.nodes["n000"], w.nodes["n001"]
		pass(lease)
		st := a.State()
		if a.Members() != 2 || len(st.Members) != 2 || !st.Trusted || st.Free != 0 || st.Parts != a.Parts() || st.Fence != a.Fence() {
			t.Fatalf("%+v", st)
		}
		const most = 2 * 2750 * time.Millisecond // between two own beats one of the other may be missed
		for _, m := range st.Members {
			if want := w.nodes[m.Node.Name].Parts(); !m.Living || m.Silent > most || m.Parts != want {
				t.Errorf("%s is shown as living: %v, silent for %v, with %v; want its parts %v", m.Node.Name, m.Living, m.Silent, m.Parts, want)
			}
		}
		for p := range b.Parts().All() {
			if a.NameOf(p) != "n001" {
				t.Fatalf("part %d is shown as of %q, want n001", p, a.NameOf(p))
			}
		}
	})
}
