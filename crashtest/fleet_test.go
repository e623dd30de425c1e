package main

import (
	"context"
	"encoding/json"
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
	asked  *worker
	said   chan reply
	cancel context.CancelFunc
}

func launchInProcess(ctx context.Context, store *memory.Store, task fleetTask) (fleetNode, error) {
	n := &inProcess{said: make(chan reply, 64)}
	n.open = make(chan struct{})
	close(n.open)
	ctx, n.cancel = context.WithCancel(ctx)
	w, err := newWorker(task, gatedStore{store, &n.gate}, func(s fleetSaid) {
		if ctx.Err() == nil {
			n.said <- reply{Fleet: &s}
		}
	})
	n.asked = w
	go func() {
		defer close(n.said)
		w.run(ctx)
	}()
	return n, err
}

func (n *inProcess) lines() <-chan reply { return n.said }
func (n *inProcess) ask(o op)            { n.asked.goals.Store(o.Goals) }
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

func (s gatedStore) Members() fleet.Members  { return gatedMembers{s.Store.Members(), s.gate} }
func (s gatedStore) Journal() detect.Journal { return gatedJournal{s.Store.Journal(), s.gate} }

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
func inMemory(t *testing.T, o options) (r *handoverRun) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{MaxEvents: 1_000_000})
		r = newHandoverRun(o, t.Output())
		r.open = func(context.Context) (storage.Store, error) { return store, nil }
		r.launch = func(task fleetTask) (fleetNode, error) { return launchInProcess(t.Context(), store, task) }
		if err := r.work(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func TestHandoversInMemory(t *testing.T) {
	seeds, wanted := uint64(3), 3000
	if testing.Short() {
		seeds, wanted = 1, 2000 // so many have to have a commit refused
	}
	for seed := range seeds {
		r := inMemory(t, options{kind: "memory", fleet: 4, handovers: wanted, seed: seed})
		o := r.report()
		// Who takes a part may be stopped before the first write, for three leases, one after the other.
		if len(r.found) > 0 || o.Handovers < wanted || o.Refused == 0 || o.Stale+o.Lost+o.Doubled > 0 || o.Takeover.P50 <= 0 || r.verdict.longest > 5*fleetLease {
			t.Errorf("seed %d: %+v, %v, longest takeover %s", seed, o, r.found, r.verdict.longest)
		}
	}
}

// What finds nothing is worth what it finds when something is wrong.
func TestPlantedFaultsOfFleetsAreFound(t *testing.T) {
	for _, plant := range plants {
		r := inMemory(t, options{kind: "memory", fleet: 4, handovers: 3000, seed: 1, plant: plant})
		if o := r.report(); o.Stale == 0 || !slices.ContainsFunc(r.found, func(v violation) bool { return v.Invariant == "F1" }) {
			t.Errorf("%s: %+v, %v", plant, o, r.found)
		}
	}
}

// chainOf is what terms have written: "a1" is number 1 of term a, "a1*" one that was
// lost before.
func chainOf(text string) (list []link) {
	for i, word := range strings.Fields(text) {
		list = append(list, link{Term: word[:1], N: uint64(word[1] - '0'), Filled: strings.HasSuffix(word, "*"), At: at(i)})
	}
	return list
}

func TestChains(t *testing.T) {
	for _, row := range []struct {
		name, chain, acked            string
		forgetful                     bool
		handovers, stale, lost, twice int
	}{
		{name: "one term", chain: "a1 a2 a3", acked: "a3"},
		{name: "handed over, and back", chain: "a1 a2 b3 c4 c5", acked: "a2 b3 c5", handovers: 2},
		{name: "written and not confirmed", chain: "a1 a2 b3", acked: "a1 b3", handovers: 1},
		{name: "written after it was lost", chain: "a1 b2 a3 b3", acked: "a1 b3", handovers: 1, stale: 1, twice: 1},
		{name: "again and again", chain: "a1 b2 a3 a4 b3", acked: "b3", handovers: 1, stale: 2, twice: 1},
		{name: "written before the next one's first", chain: "a1 a2 b2 b3", acked: "a2 b3", handovers: 1, stale: 1, twice: 1},
		{name: "confirmed and gone", chain: "a1 b2", acked: "a2 b2", handovers: 1, lost: 1},
		{name: "the last is gone", chain: "a1 a2", acked: "a3", lost: 2}, // the number, and the confirmation
		{name: "a hole", chain: "a1 a3", acked: "a3", lost: 1},
		{name: "made up for after a failover", chain: "a1 a5 a2* a3* a4* b6", acked: "a5 b6", forgetful: true, handovers: 1},
		{name: "made up for by the next", chain: "a1 a3 b2* b4", acked: "a3 b4", forgetful: true, handovers: 1},
		{name: "gone with a failover", chain: "a1 a2 b3", acked: "a2 a3 b3", forgetful: true, handovers: 1},
		{name: "gone with a failover for good", chain: "a1 a4 b5", acked: "b5", forgetful: true, handovers: 1, lost: 2},
		{name: "written after it was lost, with failovers", chain: "a1 b2 a3 b4", acked: "b4", forgetful: true, handovers: 1, stale: 1},
	} {
		b := newFleetBooks()
		for _, l := range chainOf(row.acked) {
			b.heard(0, &fleetSaid{Term: l.Term, Acks: []ack{{N: l.N}}})
		}
		v, err := b.check(func(p fleet.Part) ([]link, error) {
			if p > 0 {
				return nil, nil
			}
			return chainOf(row.chain), nil
		}, row.forgetful)
		if err != nil || v.handovers != row.handovers || v.stale != row.stale || v.lost != row.lost || v.doubled != row.twice {
			t.Errorf("%s: %d hand-overs, %d stale, %d lost, %d doubled, want %d, %d, %d, %d (%v, %v)", row.name,
				v.handovers, v.stale, v.lost, v.doubled, row.handovers, row.stale, row.lost, row.twice, v.found, err)
		}
		if got := len(v.found) > 0; got != (v.stale+v.lost+v.doubled > 0) {
			t.Errorf("%s: found %v", row.name, v.found)
		}
	}
}

func TestTakeover(t *testing.T) {
	b := newFleetBooks()
	own := fleet.SetOf(0, 1)
	b.heard(0, &fleetSaid{Term: "a", Own: &own})
	b.ended(0)
	b.deaths[0].at = at(1).Add(400 * time.Millisecond)
	second := at(2).Sub(at(1))
	b.stops = []span{{at(1).Add(second * 8 / 10), at(3)}, {at(0), at(1).Add(second / 2)}, {at(1), at(1).Add(second * 7 / 10)}, {at(2), at(3)}}
	v, err := b.check(func(p fleet.Part) ([]link, error) { return chainOf("a1 a2 b3"), nil }, false)
	if err != nil || len(v.takeovers) != 2 || v.takeovers[0] != at(2).Sub(b.deaths[0].at) {
		t.Errorf("%v, %v, want two of %s", v.takeovers, err, at(2).Sub(b.deaths[0].at))
	}
	if v.longest != second/10 {
		t.Errorf("%s while none was stopped, want %s", v.longest, second/10)
	}
	if d := outside(nil, span{at(0), at(1)}); d != second {
		t.Errorf("%s of a second with no stops", d)
	}
}

// A run with processes, on each store that there is.
func TestHandovers(t *testing.T) {
	for _, row := range []struct {
		kind      string
		failovers int
		program   string
	}{{kind: kindSQLite}, {kind: kindRedis, program: "redis-server"}, {kind: kindCluster, program: "redis-server"}, {kind: kindRedis, failovers: 2, program: "redis-sentinel"}} {
		name := row.kind
		if row.failovers > 0 {
			name = "sentinel"
		}
		t.Run(name, func(t *testing.T) {
			if testing.Short() || row.program != "" && tempo > 1 {
				t.Skip("kills processes for some seconds")
			}
			t.Parallel()
			if row.program != "" {
				needRedis(t, row.program)
			}
			wanted := testsize.Of(200, 200, 500)
			var out strings.Builder
			r := newHandoverRun(options{kind: row.kind, fleet: 3, handovers: wanted, failovers: row.failovers, seed: 1, json: true, dir: t.TempDir()}, t.Output())
			if err := r.play(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.write(&out); err != nil {
				t.Fatal(err)
			}
			var o handoverReport
			if err := json.Unmarshal([]byte(out.String()), &o); err != nil || len(r.found) > 0 || o.Handovers < wanted || o.Failovers < row.failovers {
				t.Errorf("%s, %v, %v", out.String(), err, r.found)
			}
			t.Log(out.String())
		})
	}
}
