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

// fleetTask says what a worker does: it joins, takes parts, writes their numbers, and
// gives parts, for as long as it lives.
type fleetTask struct {
	Name  string
	Seed  uint64
	Lease time.Duration
	// LookBack is how many numbers of a part a worker first looks at when it takes the
	// part, to find those that a failover has lost; 0 when nothing gets lost.
	LookBack int
	// Point is the named point at which the process dies, after passing it Skip times;
	// "" for none.
	Point string
	Skip  int
	// Plant is a fault of the worker, "" for none.
	Plant string
	// Shown is the fence that every commit shows with plantNoFence: the fence of a term
	// that nobody ends, so that the store refuses nothing.
	Shown fleet.Fence
}

// Faults of workers.
const (
	// plantNoFence: every commit shows a valid fence, as if the store ignored fences.
	plantNoFence = "nofence"
	// plantEarly: a node gives parts before their commits have ended.
	plantEarly = "early"
)

var plants = []string{plantNoFence, plantEarly}

// fleetSaid is a line from a worker.
type fleetSaid struct {
	Term string
	// Own is the parts that the term has since its last beat, nil when that changed none.
	Own *fleet.Set `json:",omitempty"`
	// Acks are the numbers that the store has confirmed.
	Acks []ack `json:",omitempty"`
	// Refused is why a commit was refused, which ended the term; "" when none was.
	Refused string `json:",omitempty"`
	// Again counts commits that were refused only because the worker's fence had moved
	// on meanwhile, and that it then made again.
	Again int `json:",omitempty"`
}

// ack is a number that was confirmed.
type ack struct {
	Part  fleet.Part
	Taken uint64 // generation of the term when it took the part
	N     uint64
}

// A worker writes the next numbers of eight parts in one commit, and makes two such
// commits at the same time.
const (
	writersPerWorker = 2
	chainsPerCommit  = 8
	writeEvery       = 20 * time.Millisecond // between the commits of one writer
	callWithin       = 5 * time.Second
)

// worker is a node of a fleet without an engine: all it does with a part is to write
// the numbers 1, 2, 3 …, from where the part's cursor is.
//
// It never asks whether its own lease may be over. An engine does, and so the store
// rarely has to refuse its commits.
type worker struct {
	fleetTask
	store   storage.Store
	members fleet.Members
	say     func(fleetSaid)
	rand    *rand.Rand
	seen    uint64 // State.Beats
	// goals are the numbers that have to be passed before the run ends; nil until it is
	// about to.
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

// run serves one term after the other.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.serve(ctx); err != nil {
			pause(ctx, w.Lease/8)
		}
	}
}

// serve joins for one term, until the store refuses it or the worker leaves.
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

// pause waits, and says whether ctx has not ended.
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

// link is one number of a part, as the store has it in an event.
type link struct {
	Term  string
	Taken uint64
	N     uint64
	// Filled: it was written again after a failover had lost it.
	Filled bool      `json:",omitempty"`
	At     time.Time `json:"-"` // of the commit
}

// ownerOf is the owner of all events of a part, so that their numbers are those of
// the part: the store gives the nth number to the nth event.
func ownerOf(p fleet.Part) string { return fmt.Sprintf("part-%04d", p) }

// targets has, for each part, a cursor target that is in it.
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

// links reads the numbers of a part from the store, in the order of their commits:
// those of the events after event number after.
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

// runWorker runs a worker in a process of its own, until the input ends.
func runWorker(ctx context.Context, store storage.Store, task fleetTask, c *child, in *json.Decoder) error {
	w, err := newWorker(task, store, func(s fleetSaid) { _ = c.send(reply{Fleet: &s}) }) // fails if the parent is gone, and then the input ends, too
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
