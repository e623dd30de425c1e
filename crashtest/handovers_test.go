package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// inProcess is a worker of this process on a store in memory. It is stopped in its
// calls, as they begin or when they are done.
type inProcess struct {
	gate
	said   chan reply
	cancel context.CancelFunc
}

func launchInProcess(ctx context.Context, store *memory.Store, task workerTask) (workerProcess, error) {
	n := &inProcess{said: make(chan reply, 64)}
	n.open = make(chan struct{})
	close(n.open)
	ctx, n.cancel = context.WithCancel(ctx)
	w, err := newWorker(task, gatedStore{store, &n.gate}, func(s written) error {
		if ctx.Err() == nil {
			n.said <- reply{Worker: &s}
		}
		return ctx.Err()
	})
	go func() {
		defer close(n.said)
		_ = w.run(ctx) // ends with ctx
	}()
	return n, err
}

func (n *inProcess) lines() <-chan reply { return n.said }
func (n *inProcess) kill()               { n.cancel() }
func (n *inProcess) wait() end           { return end{signaled: true} }

// gate holds calls back while it is not open.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
}

func (g *gate) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	// A process that is stopped does not see that its time is over, either.
	for deadline := ctx.Done(); ; deadline = nil {
		select {
		case <-open:
			return
		case <-deadline:
			if context.Cause(ctx) == context.Canceled {
				return
			}
		}
	}
}

type gatedStore struct {
	*memory.Store
	gate *gate
}

func (s gatedStore) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Members = gatedMembers{p.Members, s.gate}
	p.Journal = gatedJournal{p.Journal, s.gate}
	return p
}

type gatedMembers struct {
	fleet.Members
	gate *gate
}

func (m gatedMembers) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	m.gate.pass(ctx)
	defer m.gate.pass(ctx)
	return m.Members.Join(ctx, n)
}

func (m gatedMembers) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	m.gate.pass(ctx)
	defer m.gate.pass(ctx)
	return m.Members.Beat(ctx, b)
}

type gatedJournal struct {
	detect.Journal
	gate *gate
}

func (j gatedJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	pause(ctx, 5*time.Millisecond) // on its way
	j.gate.pass(ctx)
	defer j.gate.pass(ctx)
	return j.Journal.Commit(ctx, batches)
}

// inMemory runs workers of this process, in virtual time.
func inMemory(t *testing.T, seed uint64, handed int, plant string) (rep report) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{MaxEvents: 1_000_000})
		h := newHandovers(options{kind: "memory", fleet: 4, handovers: handed, seed: seed, plant: plant}, t.Output())
		h.open = func(context.Context) (storage.Store, error) { return store, nil }
		h.launch = func(task workerTask) (workerProcess, error) { return launchInProcess(t.Context(), store, task) }
		var err error
		if rep, err = h.work(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return rep
}

func TestHandovers(t *testing.T) {
	wanted := testsize.Of(2000, 3000, 10_000)
	t.Run("memory", func(t *testing.T) {
		for seed := range testsize.Of[uint64](1, 3, 3) {
			if r := inMemory(t, seed, wanted, ""); len(r.found) > 0 || r.value("hand-overs") < wanted || r.value("refused") == 0 {
				t.Errorf("seed %d: %s", seed, printed(t, r))
			}
		}
	})
	for _, kind := range sharedKinds {
		t.Run(kind, func(t *testing.T) {
			if testing.Short() || tempo > 1 {
				t.Skip("kills processes for some seconds")
			}
			need(t, kind)
			play := func(seed uint64, wanted int, plant string) report {
				o := options{kind: kind, fleet: 3, handovers: wanted, seed: seed, plant: plant, dir: tempDir(t)}
				r, err := newHandovers(o, t.Output()).play(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			// So many that some commits must have been refused.
			if r := play(1, refusesWithin, ""); len(r.found) > 0 || r.value("hand-overs") < refusesWithin || r.value("refused") == 0 {
				t.Error(printed(t, r))
			}
			// Without fences, the same finds stale writes. When a process is paused is chance.
			stale := 0
			for seed := uint64(1); seed < 8 && stale == 0; seed++ {
				r := play(seed, refusesWithin/2, plantNoFence)
				stale = r.value("stale, and accepted")
			}
			if stale == 0 {
				t.Error("no write was stale without fences")
			}
		})
	}
}

// A store that ignores fences is found.
func TestPlantedFaultOfFencesIsFound(t *testing.T) {
	r := inMemory(t, 1, 3000, plantNoFence)
	if r.value("stale, and accepted") == 0 || !slices.ContainsFunc(r.found, func(v violation) bool { return v.Invariant == "F1" }) {
		t.Error(printed(t, r))
	}
}

func TestChains(t *testing.T) {
	// "a1" is number 1 of term a.
	parse := func(text string) (list []link) {
		for word := range strings.FieldsSeq(text) {
			list = append(list, link{Term: word[:1], N: uint64(word[1] - '0')})
		}
		return list
	}
	for _, row := range []struct {
		name, chain, acked            string
		handovers, stale, lost, twice int
	}{
		{name: "one term", chain: "a1 a2 a3", acked: "a3"},
		{name: "handed over, and back", chain: "a1 a2 b3 c4 c5", acked: "a2 b3 c5", handovers: 2},
		{name: "written and not confirmed", chain: "a1 a2 b3", acked: "a1 b3", handovers: 1},
		{name: "written after it was lost", chain: "a1 b2 a3 b3", acked: "a1 b3", handovers: 1, stale: 1, twice: 1},
		{name: "again and again", chain: "a1 b2 a3 a4 b3", acked: "b3", handovers: 1, stale: 2, twice: 1},
		{name: "written before the next one's first", chain: "a1 a2 b2 b3", acked: "a2 b3", handovers: 1, stale: 1, twice: 1},
		{name: "confirmed and gone", chain: "a1 b2", acked: "a2 b2", handovers: 1, lost: 1},
		{name: "the last is gone", chain: "a1 a2", acked: "a3", lost: 1},
		{name: "a hole", chain: "a1 a3", acked: "a3", lost: 1},
	} {
		var v verdict
		c := newChains()
		for _, l := range parse(row.acked) {
			c.heard(written{Term: l.Term, Acks: []ack{{N: l.N}}})
		}
		v.check(0, parse(row.chain), c.acked)
		if v.handovers != row.handovers || v.stale != row.stale || v.lost != row.lost || v.doubled != row.twice || len(v.found) != v.stale+v.lost+v.doubled {
			t.Errorf("%s: %d hand-overs, %d stale, %d lost, %d doubled, want %d, %d, %d, %d (%v)", row.name,
				v.handovers, v.stale, v.lost, v.doubled, row.handovers, row.stale, row.lost, row.twice, v.found)
		}
	}
}
