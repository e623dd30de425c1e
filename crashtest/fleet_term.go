package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// term is the membership of a worker.
type term struct {
	*worker
	id  string
	end context.CancelFunc
	// others is what was seen of the other terms; the beats' own, like rests.
	others map[string]*sight
	// rests are the beats in which nothing is taken: it has just given some.
	rests int

	calling chan struct{} // has room but during a beat, until its answer counts
	fence   fleet.Fence

	mu    sync.Mutex
	idle  sync.Cond // a commit has ended
	own   map[fleet.Part]*chain
	queue []*chain // those that nobody writes, the next first
}

// chain is a part that the term has.
type chain struct {
	part  fleet.Part
	taken uint64   // generation
	n     uint64   // the last number written
	lost  []uint64 // by a failover, to be written again
	busy  bool     // it is being written
	given bool
}

// sight is what a worker has seen of another term.
type sight struct {
	beats  uint64
	silent time.Duration // for how long that has not changed
	at     time.Time     // of the last look
}

// beatsPerLease is how often a worker shows that it lives.
const beatsPerLease = 4

// beats until ctx ends or the term does.
func (t *term) beats(ctx context.Context) {
	for t.beat(ctx) {
		if !pause(ctx, time.Duration((0.9+0.2*t.rand.Float64())*float64(t.Lease)/beatsPerLease)) {
			return
		}
	}
}

// beat gives, takes and shows a sign of life. It reports whether the term goes on.
func (t *term) beat(ctx context.Context) bool {
	ending := t.goals.Load() != nil
	if !ending && t.rand.IntN(100) == 0 {
		t.leave(ctx)
		return false
	}
	share := (fleet.Parts + len(t.others)) / (1 + len(t.others))
	give, want := t.chosen(share, ending)
	t.stop(give)

	t.calling <- struct{}{}
	call, cancel := context.WithTimeout(ctx, callWithin)
	b := fleet.Beat{Fence: t.fence, Give: give, Want: want, Suspects: t.suspects(), Weight: 1, Seen: t.seen}
	st, err := t.members.Beat(call, b)
	cancel()
	if err != nil {
		<-t.calling
		return !errors.Is(err, fleet.ErrFenced)
	}
	t.note(st)
	t.fence = st.Fence
	t.mu.Lock()
	before := t.has()
	maps.DeleteFunc(t.own, func(p fleet.Part, _ *chain) bool { return give.Has(p) })
	had := t.has()
	t.mu.Unlock()
	<-t.calling
	if had.Minus(st.Own) != (fleet.Set{}) { // it was taken away, and the store has forgotten that
		return false
	}
	if before != st.Own {
		t.say(fleetSaid{Term: st.Fence.Term, Own: &st.Own})
	}
	return t.take(ctx, st.Own.Minus(had), st.Fence.Generation)
}

// has is what the term has. mu is held.
func (t *term) has() (own fleet.Set) {
	for p := range t.own {
		own.Add(p)
	}
	return own
}

// chosen decides what to give and how much to have: what is above the share goes, and
// now and then some more, so that parts change hands without end.
func (t *term) chosen(share int, ending bool) (give fleet.Set, want int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := slices.Sorted(maps.Keys(t.own))
	n := max(0, len(own)-share)
	want = share
	switch t.rests--; {
	case ending:
	case t.rand.IntN(8) == 0:
		n, t.rests = max(n, len(own)/8), 1+t.rand.IntN(2)
		want = len(own) - n
	case t.rests >= 0:
		want = min(share, len(own))
	case t.rand.IntN(4) == 0:
		want += share / 4
	}
	t.rand.Shuffle(len(own), func(i, k int) { own[i], own[k] = own[k], own[i] })
	for p, c := range t.own { // those of a beat without an answer
		if c.given {
			give.Add(p)
		}
	}
	for _, p := range own[:n] {
		give.Add(p)
	}
	return give, want
}

// stop ends the writing of parts, and waits for commits under way that have them.
func (t *term) stop(give fleet.Set) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range give.All() {
		if c := t.own[p]; c != nil {
			c.given = true
		}
	}
	t.queue = slices.DeleteFunc(t.queue, func(c *chain) bool { return c.given })
	for t.Plant != plantEarly && t.writing(give) {
		t.idle.Wait()
	}
}

func (t *term) writing(of fleet.Set) bool {
	for p, c := range t.own {
		if c.busy && of.Has(p) {
			return true
		}
	}
	return false
}

// leave ends the term as a process does that stops.
func (t *term) leave(ctx context.Context) {
	t.stop(fleet.All())
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_ = t.members.Leave(ctx, t.fence) // else it is ended by the next one
}

// note keeps what an answer says of the others.
func (t *term) note(st fleet.State) {
	now := time.Now()
	t.seen = st.Beats
	seen := make(map[string]bool)
	for _, m := range st.Members {
		if m.Term == st.Fence.Term || m.Term == t.Shown.Term {
			continue
		}
		seen[m.Term] = true
		s := t.others[m.Term]
		if s == nil || s.beats != m.Beats {
			t.others[m.Term] = &sight{beats: m.Beats, at: now}
			continue
		}
		// Time in which this process itself was stopped counts no more than a beat.
		s.silent += min(now.Sub(s.at), 2*t.Lease/beatsPerLease)
		s.at = now
	}
	maps.DeleteFunc(t.others, func(term string, _ *sight) bool { return !seen[term] })
}

func (t *term) suspects() (list []string) {
	for id, s := range t.others {
		if s.silent >= t.Lease {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// take begins with parts that the last beat has given, where the store says that they
// are. It reports whether the term goes on.
func (t *term) take(ctx context.Context, parts fleet.Set, generation uint64) bool {
	var list []*chain
	var of []string
	for p := range parts.All() {
		list = append(list, &chain{part: p, taken: generation})
		of = append(of, targets()[p])
	}
	if len(list) == 0 {
		return true
	}
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	cursors, err := t.store.Journal().Cursors(call, of...)
	if err != nil {
		return false
	}
	at := make(map[string]uint64)
	for _, c := range cursors {
		var n uint64
		if _, err := fmt.Sscan(c.Position, &n); err != nil {
			panic(fmt.Sprintf("crashtest: cursor %+v: %v", c, err))
		}
		at[c.Target] = n
	}
	for i, c := range list {
		c.n = at[of[i]]
		if err := t.lookBack(call, c); err != nil {
			return false
		}
	}
	t.rand.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range list {
		t.own[c.part] = c
	}
	t.queue = append(list, t.queue...)
	return true
}

// lookBack finds the numbers of a part that a failover has lost, as polls look back: it
// reads from a number that is the nth event, and so has none missing before it.
func (t *term) lookBack(ctx context.Context, c *chain) error {
	for k := uint64(t.LookBack); k > 0; k *= 4 {
		after := c.n - min(c.n, k)
		list, err := links(ctx, t.store, c.part, after)
		if err != nil {
			return err
		}
		if after > 0 && (len(list) == 0 || list[0].Filled || list[0].N > after+1) {
			continue
		}
		have := make(map[uint64]bool)
		for _, l := range list {
			have[l.N] = true
			c.n = max(c.n, l.N)
		}
		c.lost = nil
		for n := after + 1; n <= c.n; n++ {
			if !have[n] {
				c.lost = append(c.lost, n)
			}
		}
		return nil
	}
	return nil
}
