package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// fleetTask is what a worker is told: it joins, takes parts, writes their numbers,
// and gives parts back, for as long as it lives.
type fleetTask struct {
	Name  string
	Seed  uint64
	Lease time.Duration
	// LookBack is how many numbers of a part a worker looks at when it takes it, for
	// those that a failover has lost; 0 when nothing gets lost.
	LookBack int
	// Point is one at which the process dies, "" for none, after Skip passes.
	Point string
	Skip  int
	// Plant is a fault of the worker, "" for none.
	Plant string
	// Shown is the fence of every commit with plantNoFence: that of a term that nobody
	// ends, so that the store refuses nothing.
	Shown fleet.Fence
}

// Faults of workers.
const (
	// plantNoFence is a store that looks at no fence.
	plantNoFence = "nofence"
	// plantEarly is a node that gives parts whose commits have not ended.
	plantEarly = "early"
)

var plants = []string{plantNoFence, plantEarly}

// fleetSaid is a line from a worker.
type fleetSaid struct {
	Term string
	// Own is what the term has since its last beat, nil when that changed nothing.
	Own *fleet.Set `json:",omitempty"`
	// Acks are the numbers that the store has taken.
	Acks []ack `json:",omitempty"`
	// Refused is why a commit was, which ended the term.
	Refused string `json:",omitempty"`
	// Again counts commits that were refused only because the worker had moved on, and
	// made again.
	Again int `json:",omitempty"`
}

// ack is a number that was confirmed.
type ack struct {
	Part  fleet.Part
	Taken uint64 // generation of the term when it took the part
	N     uint64
}

// A worker writes eight parts at a time, two of such commits side by side.
const (
	writersPerWorker = 2
	chainsPerCommit  = 8
	writeEvery       = 20 * time.Millisecond // a writer's commits
	callWithin       = 5 * time.Second
)

// worker is a node of a fleet without an engine: all it does with a part is to write
// 1, 2, 3 …, each number from where the part's cursor is.
//
// It never looks whether its lease may be over. An engine does, and so hides most
// of what a store must refuse.
type worker struct {
	fleetTask
	store   storage.Store
	members fleet.Members
	say     func(fleetSaid)
	rand    *rand.Rand
	seen    uint64 // State.Beats
	// goals are the numbers that have to be passed before the end; nil until it comes.
	goals atomic.Pointer[goals]
}

// goals has a number for each part.
type goals [fleet.Parts]uint64

func newWorker(task fleetTask, store storage.Store, say func(fleetSaid)) (*worker, error) {
	shared, ok := store.(storage.Sharing)
	if !ok {
		return nil, fmt.Errorf("crashtest: %T cannot be shared by a fleet", store)
	}
	return &worker{fleetTask: task, store: store, members: shared.Members(), say: say, rand: rand.New(rand.NewPCG(task.Seed, 7))}, nil
}

// run has one term after the other.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.serve(ctx); err != nil {
			pause(ctx, w.Lease/8)
		}
	}
}

// serve has one term: it ends when the store refuses it, or when the worker leaves.
func (w *worker) serve(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callWithin)
	st, err := w.members.Join(call, fleet.Node{Name: w.Name, Weight: 1, Lease: w.Lease, Fingerprint: "crashtest", Seen: w.seen})
	cancel()
	if err != nil {
		return err
	}
	life := ctx
	ctx, end := context.WithCancel(life)
	defer end()
	t := &term{worker: w, id: st.Fence.Term, end: end, fence: st.Fence, calling: make(chan struct{}, 1),
		own: make(map[fleet.Part]*chain), others: make(map[string]*sight)}
	t.idle.L = &t.mu
	t.note(st)
	var writers sync.WaitGroup
	for range writersPerWorker {
		writers.Go(func() { t.writes(ctx, life) })
	}
	t.beats(ctx)
	end()
	writers.Wait()
	return nil
}

// pause waits, and says whether ctx is still there.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// link is a number of a part, as its event has it.
type link struct {
	Term  string
	Taken uint64
	N     uint64
	// Filled: it was lost with a failover, and written again.
	Filled bool      `json:",omitempty"`
	At     time.Time `json:"-"` // of the commit
}

// ownerOf is the owner of all events of a part, so that their numbers are those of
// the part: the store gives the nth number to the nth event.
func ownerOf(p fleet.Part) string { return fmt.Sprintf("part-%04d", p) }

// targets has a cursor's target for each part.
var targets = sync.OnceValue(func() (names [fleet.Parts]string) {
	for left, i := fleet.Parts, 0; left > 0; i++ {
		name := fmt.Sprintf("account:%d", i)
		if p := fleet.PartOf(name); names[p] == "" {
			names[p] = name
			left--
		}
	}
	return names
})

// links reads what the store has of a part, in the order of the commits, after so
// many.
func links(ctx context.Context, store storage.Store, p fleet.Part, after uint64) ([]link, error) {
	var list []link
	for {
		events, err := store.Log().Events(ctx, ownerOf(p), after, portPage)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			var l link
			if err := json.Unmarshal(e.Body, &l); err != nil {
				return nil, fmt.Errorf("crashtest: event %s: %w", e.ID, err)
			}
			l.At = e.CommittedAt
			list = append(list, l)
			after = e.Seq
		}
		if len(events) < portPage {
			return list, nil
		}
	}
}

// runWorker is a worker as a process of its own, until its input ends.
func runWorker(ctx context.Context, store storage.Store, task fleetTask, c *child, in *json.Decoder) error {
	w, err := newWorker(task, store, func(s fleetSaid) { _ = c.send(reply{Fleet: &s}) }) // nobody listens: the input has ended, too
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { w.run(ctx) })
	var o op
	for err == nil {
		if err = in.Decode(&o); err == nil && o.Goals != nil {
			w.goals.Store(o.Goals)
		}
	}
	cancel()
	working.Wait()
	return errors.Join(errors.New("crashtest: nobody listens any more"), err)
}
