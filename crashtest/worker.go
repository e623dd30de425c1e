package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// fleetLease is how long a node keeps its term without a beat. It is the shortest lease allowed.
const fleetLease = time.Second

// A worker beats about four times per lease. It commits several times between beats. Each commit
// writes the next number of some of its parts.
const (
	commitsPerBeat = 10
	partsPerCommit = 16
	commitEvery    = fleetLease / (4 * commitsPerBeat)
	callWithin     = 5 * time.Second
)

// plantNoFence is the name of a fault: the store ignores fences.
const plantNoFence = "nofence"

// workerTask says what a worker does.
type workerTask struct {
	Name string
	Seed uint64
	// Shown is the fence that every commit carries instead of the worker's, for plantNoFence. It is
	// of a term that nothing ends, so the store refuses no commit.
	Shown fleet.Fence
}

// written is a line from a worker. It tells what one commit has written.
type written struct {
	Term    string
	Acks    []ack `json:",omitempty"`
	Refused bool  `json:",omitempty"` // the store refused the commit; the term is over
}

// ack is a number that was confirmed.
type ack struct {
	Part  fleet.Part
	Taken uint64 // generation of the term when it took the part
	N     uint64
}

// worker is a node of a fleet without an engine. It only writes the numbers 1, 2, 3 … to its parts,
// continuing from each part's cursor. Unlike an engine, it never asks whether its lease may be
// over. Thus only the store prevents it from writing to a part that it has lost.
type worker struct {
	workerTask
	store   storage.Store
	members fleet.Members
	say     func(written) error
	rand    *rand.Rand
	seen    uint64 // State.Beats

	// Of the term:
	fence  fleet.Fence
	own    map[fleet.Part]*chain
	queue  []*chain        // the next one to write first
	others map[string]bool // terms: whether the lease is over
	rests  int             // number of next beats in which it takes no parts, because it has just given some
}

// chain is a part that the term has.
type chain struct {
	part  fleet.Part
	taken uint64 // the generation in which the term took it
	n     uint64 // the last number written
}

func newWorker(task workerTask, store storage.Store, say func(written) error) (*worker, error) {
	members := store.Ports().Members
	if members == nil {
		return nil, fmt.Errorf("crashtest: %T cannot be shared by a fleet", store)
	}
	return &worker{workerTask: task, store: store, members: members, say: say, rand: rand.New(rand.NewPCG(task.Seed, 7))}, nil
}

// run serves one term after the other, until ctx ends or nobody reads its lines.
func (w *worker) run(ctx context.Context) error {
	for ctx.Err() == nil {
		st, err := w.members.Join(ctx, fleet.Node{Name: w.Name, Weight: 1, Lease: fleetLease, Fingerprint: "crashtest", Seen: w.seen})
		if err != nil {
			pause(ctx, fleetLease/8)
			continue
		}
		w.own, w.queue, w.others = make(map[fleet.Part]*chain), nil, nil
		w.note(st)
		if err := w.serve(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// serve beats and commits until the store refuses the term or the worker leaves.
func (w *worker) serve(ctx context.Context) error {
	for w.beat(ctx) {
		for range commitsPerBeat { // a number, not a time: a paused worker continues with its commits
			if goesOn, err := w.commit(ctx); !goesOn {
				return err
			}
			pause(ctx, time.Duration((0.9+0.2*w.rand.Float64())*float64(commitEvery)))
		}
		if w.rand.IntN(100) == 0 {
			_ = w.members.Leave(ctx, w.fence) // if that fails, other nodes end the term after its lease
			return nil
		}
	}
	return nil
}

// beat gives and takes parts, and extends the lease. It reports whether the term continues.
func (w *worker) beat(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	give, want := w.choose()
	w.keep(func(p fleet.Part) bool { return !give.Has(p) })
	st, err := w.members.Beat(ctx, fleet.Beat{Fence: w.fence, Give: give, Want: want, Suspects: w.suspects(), Weight: 1, Seen: w.seen})
	if err != nil {
		return ctx.Err() == nil && !errors.Is(err, fleet.ErrFenced)
	}
	w.note(st)
	w.keep(func(p fleet.Part) bool { return st.Own.Has(p) })
	return w.take(ctx, st.Own)
}

// keep drops the parts that ok does not name.
func (w *worker) keep(ok func(fleet.Part) bool) {
	maps.DeleteFunc(w.own, func(p fleet.Part, _ *chain) bool { return !ok(p) })
	w.queue = slices.DeleteFunc(w.queue, func(c *chain) bool { return !ok(c.part) })
}

// choose returns the parts to give and the number of parts to have. It gives the parts above its
// share, and sometimes more, which keeps parts changing hands.
func (w *worker) choose() (give fleet.Set, want int) {
	share := (fleet.Parts + len(w.others)) / (1 + len(w.others))
	own := slices.Sorted(maps.Keys(w.own))
	n, want := max(0, len(own)-share), share
	switch w.rests--; {
	case w.rand.IntN(8) == 0:
		n, w.rests = max(n, len(own)/8), 1+w.rand.IntN(2)
		want = len(own) - n
	case w.rests >= 0:
		want = min(share, len(own))
	case w.rand.IntN(4) == 0:
		want += share / 4
	}
	w.rand.Shuffle(len(own), func(i, k int) { own[i], own[k] = own[k], own[i] })
	return fleet.SetOf(own[:n]...), want
}

// note records what an answer says about this term and the others.
func (w *worker) note(st fleet.State) {
	w.seen, w.fence, w.others = st.Beats, st.Fence, make(map[string]bool)
	for _, m := range st.Members {
		if m.Term != st.Fence.Term && m.Term != w.Shown.Term {
			w.others[m.Term] = m.Over
		}
	}
}

// suspects are the terms with leases that are over.
func (w *worker) suspects() (list []string) {
	for term, over := range w.others {
		if over {
			list = append(list, term)
		}
	}
	slices.Sort(list)
	return list
}

// take begins to write to the parts that the last beat gave to the term. It continues from the
// cursor of each. It reports whether the term continues.
func (w *worker) take(ctx context.Context, parts fleet.Set) bool {
	var list []*chain
	of := make(map[string]*chain) // by target
	for p := range parts.All() {
		if w.own[p] == nil {
			c := &chain{part: p, taken: w.fence.Generation}
			list, of[targets()[p]] = append(list, c), c
		}
	}
	if len(list) == 0 {
		return true
	}
	cursors, err := w.store.Ports().Journal.Cursors(ctx, slices.Collect(maps.Keys(of))...)
	if err != nil {
		return false
	}
	for _, c := range cursors {
		if of[c.Target].n, err = strconv.ParseUint(c.Position, 10, 64); err != nil {
			panic(fmt.Sprintf("crashtest: cursor %+v: %v", c, err))
		}
	}
	w.rand.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	for _, c := range list {
		w.own[c.part] = c
	}
	w.queue = append(list, w.queue...)
	return true
}

// commit writes the next number of some parts. If the outcome is unclear, it repeats the commit
// with the same ids. It reports whether the term continues.
func (w *worker) commit(ctx context.Context) (bool, error) {
	n := min(partsPerCommit, len(w.queue))
	if n == 0 {
		return ctx.Err() == nil, nil
	}
	said := written{Term: w.fence.Term}
	batches := make([]*detect.Batch, n)
	for i, c := range w.queue[:n] {
		batches[i] = c.batch(w.fence.Term)
		if batches[i].Fence = w.fence; w.Shown.Term != "" {
			batches[i].Fence = w.Shown
		}
		said.Acks = append(said.Acks, ack{c.part, c.taken, c.n + 1})
	}
	for {
		call, cancel := context.WithTimeout(ctx, callWithin)
		err := w.store.Ports().Journal.Commit(call, batches)
		cancel()
		switch {
		case err == nil:
			for _, c := range w.queue[:n] {
				c.n++
			}
			w.queue = append(w.queue[n:], w.queue[:n]...)
			return true, w.say(said)
		case errors.Is(err, fleet.ErrFenced):
			return false, w.say(written{Term: w.fence.Term, Refused: true})
		case !pause(ctx, 10*time.Millisecond):
			return false, nil
		}
	}
}

// batch returns the batch that commits the next number of a part.
func (c *chain) batch(term string) *detect.Batch {
	number := strconv.FormatUint(c.n+1, 10)
	body, err := json.Marshal(link{Term: term, Taken: c.taken, N: c.n + 1})
	if err != nil {
		panic(err) // it has nothing that cannot be encoded
	}
	owner := ownerOf(c.part)
	return &detect.Batch{
		Cursor: &detect.Cursor{Target: targets()[c.part], Position: number},
		Events: []deliver.Event{{
			// The id contains the term: the same number written by another term is another event.
			ID:     fmt.Sprintf("%s-%s-%s-%d", owner, number, term, c.taken),
			Source: deliver.Source{Kind: deliver.SourceMonitor, ID: owner, Owner: owner}, TweetID: number,
			DetectedAt: time.Now(), Body: body,
		}},
	}
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

// ownerOf is the owner of all events of a part.
func ownerOf(p fleet.Part) string { return fmt.Sprintf("part-%04d", p) }

// targets has a target in each part, by the number of the part.
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
