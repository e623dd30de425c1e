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

// term is one membership of a worker in the fleet.
type term struct {
	*worker
	id  string
	end context.CancelFunc
	// others is what was seen of the other terms. Only the goroutine of the beats uses
	// it, and rests.
	others map[string]*sight
	// rests is the number of beats in which the term takes no part, as it has just
	// given some.
	rests int

	calling chan struct{} // locks fence: its one place is taken from before a beat until the answer is in fence
	fence   fleet.Fence

	mu    sync.Mutex
	idle  sync.Cond // signalled when a commit has ended
	own   map[fleet.Part]*chain
	queue []*chain // those that are not being written, the next one first
}

// chain is a part that the term has, and the numbers in it.
type chain struct {
	part  fleet.Part
	taken uint64   // the generation in which the term took it
	n     uint64   // the last number written
	lost  []uint64 // numbers that a failover has lost, to be written again
	busy  bool     // it is being written
	given bool     // it is being given: no new number may be written
}

// sight is what a worker has seen of another term.
type sight struct {
	beats  uint64
	silent time.Duration // for how long beats has not changed
	at     time.Time     // when it was looked at last
}

// beatsPerLease is how often a worker shows that it lives.
const beatsPerLease = 4

// beats does one beat after the other, until ctx or the term ends.
func (t *term) beats(ctx context.Context) {
	for t.beat(ctx) {
		if !pause(ctx, time.Duration((0.9+0.2*t.rand.Float64())*float64(t.Lease)/beatsPerLease)) {
			return
		}
	}
}

// beat gives parts, takes parts, and shows that the worker is alive. It reports whether
// the term goes on.
func (t *term) beat(ctx context.Context) bool {
	ending := t.goals.Load() != nil
	if !ending && t.rand.IntN(100) == 0 {
		t.leave(ctx)
		return false
	}
	share := (fleet.Parts + len(t.others)) / (1 + len(t.others))
	give, want := t.choose(share, ending)
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
	if had.Minus(st.Own) != (fleet.Set{}) { // a part was taken away, by a fleet whose state a failover has lost
		return false
	}
	if before != st.Own {
		t.say(fleetSaid{Term: st.Fence.Term, Own: &st.Own})
	}
	return t.take(ctx, st.Own.Minus(had), st.Fence.Generation)
}

// has returns the parts that the term has. mu is held.
func (t *term) has() (own fleet.Set) {
	for p := range t.own {
		own.Add(p)
	}
	return own
}

// choose decides which parts to give, and how many to have. It gives what is more than
// the share, and now and then some more, so that parts keep changing hands.
func (t *term) choose(share int, ending bool) (give fleet.Set, want int) {
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
	for p, c := range t.own { // given in a beat before that got no answer
		if c.given {
			give.Add(p)
		}
	}
	for _, p := range own[:n] {
		give.Add(p)
	}
	return give, want
}

// stop ends the writing of the given parts, and waits for their commits under way.
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

// leave ends the term, as a process does that stops.
func (t *term) leave(ctx context.Context) {
	t.stop(fleet.All())
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_ = t.members.Leave(ctx, t.fence) // if that fails, other workers end the term when its lease is over
}

// note records what an answer says about the other terms.
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
		// This process may have been stopped itself since its last look, and missed the
		// other's beats: it adds no more than the time of two beats.
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

// take begins to write the parts that the term got with the last beat, each from where
// its cursor is. It reports whether the term goes on.
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

// lookBack finds the numbers of a part that a failover has lost, as the polls of an
// engine look back. It reads from a place where number n is the nth event, so that none
// is missing before it.
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
