package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// fenceRaceCases make commits during a call that ends their fence. When that call has returned, no
// such commit may take effect any more.
func fenceRaceCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name   string
		change func(t *fleetTest, n, other *node) // ends the present fence of n
	}{
		{"the term gives parts", func(_ *fleetTest, n, _ *node) { n.beat(gives(n.Own.First(1))) }},
		{"the term takes parts", func(_ *fleetTest, n, _ *node) { n.beat(wants(n.Own.Len() + 1)) }},
		{"the term leaves", func(_ *fleetTest, n, _ *node) { n.leave() }},
		{"another of its name joins", func(t *fleetTest, _, _ *node) { t.join("n", longLease) }},
		{"the term is evicted", func(t *fleetTest, n, other *node) {
			t.pass(t.lease() + time.Millisecond)
			other.beat(suspects(n))
		}},
	} {
		cases = append(cases, onFleet("no commit is stored after "+row.name, twice(func(one, two *fleetTest) {
			rounds := 8
			if !one.kit.moveLeases(0) {
				rounds = 1 // each may take the length of a lease
			}
			other := one.join("other", longLease)
			for r := range rounds {
				n := one.join("n", one.lease()).beat(wants(8))
				var first uint64
				commitBeside(two, n.Fence, fmt.Sprint("round ", r), func() {
					row.change(one, n, other)
					first = mark(one, other.Fence, fmt.Sprint("first ", r))
				})
				last := mark(one, other.Fence, fmt.Sprint("last ", r))
				if last != first+1 {
					one.Fatalf("%d commits with the old fence were stored after %s: the call that ends a fence has to wait for commits under way, and later ones are refused", last-first-1, row.name)
				}
				expect(one.storeTest, one.member("other").Term, other.Fence.Term, "the term of another node was ended")
			}
		})))
	}
	return cases
}

// mark commits an event and returns its number.
func mark(t *fleetTest, f fleet.Fence, tweet string) uint64 {
	t.Helper()
	b := &detect.Batch{Events: []deliver.Event{newEvent(acme, tweet)}, Fence: f}
	t.commit(b)
	return b.Events[0].Seq
}

// commitBeside commits from four goroutines, each until a commit is refused. It calls change when
// each has made a few commits, and returns when all have ended.
func commitBeside(t *fleetTest, f fleet.Fence, tweet string, change func()) {
	const enough, late = 3, 100 // commits of each goroutine: before the change, and at most after it
	ctx, cancel := context.WithCancel(t.Context())
	var done, ready sync.WaitGroup
	var changed atomic.Bool
	defer func() {
		if !changed.Load() { // the case ends
			cancel()
		}
		done.Wait()
		cancel()
	}()
	for w := range 4 {
		ready.Add(1)
		done.Go(func() {
			begun := sync.OnceFunc(ready.Done)
			defer begun()
			for i, after := 0, 0; after < late; i++ {
				if changed.Load() {
					after++
				}
				if i == enough {
					begun()
				}
				if i > 200 { // the end of a lease may take seconds
					sleep(ctx, time.Millisecond)
				}
				b := &detect.Batch{Events: []deliver.Event{newEvent(acme, fmt.Sprint(tweet, "-", w, "-", i))}, Fence: f}
				switch err := t.store.Ports().Journal.Commit(ctx, []*detect.Batch{b}); {
				case errors.Is(err, fleet.ErrFenced) || ctx.Err() != nil:
					return
				case err != nil:
					t.Errorf("Commit beside a call that ends its fence: the error is %v, want none or %v", err, fleet.ErrFenced)
					return
				}
			}
			t.Errorf("%d commits with a fence were stored after its end", late)
		})
	}
	ready.Wait()
	change()
	changed.Store(true)
}

// handOutCases test concurrent beats of many nodes.
func handOutCases() []storeCase {
	return []storeCase{
		onFleet("parts are handed out once, and all of them", twice(raceHandOut)),
		onFleet("of joins of one name at once one term stays", func(t *fleetTest) {
			const racers = 8
			terms := make([]*node, racers)
			var wg sync.WaitGroup
			for i := range racers {
				wg.Go(func() {
					n, err := t.tryJoin(fleet.Node{Name: "n", Weight: 1, Lease: longLease})
					if err != nil {
						t.Errorf("Join beside other joins failed: %v", err)
					}
					terms[i] = n
				})
			}
			wg.Wait()
			expect(t.storeTest, t.members(), "n", "there is one term a name, whoever joins at once")
			live := 0
			for _, n := range terms {
				if n.tryBeat() == nil {
					live++
				}
			}
			expect(t.storeTest, live, 1, "of terms of one name that joined at once exactly one goes on")
			t.whole()
		}),
	}
}

// raceHandOut runs six nodes that take and give parts through two stores. At the beginning the term
// of a dead node has all parts.
func raceHandOut(one, two *fleetTest) {
	const nodes, beats = 6, 30
	dead := one.join("dead", one.lease()).beat(wants(fleet.Parts))
	one.pass(one.lease() + time.Millisecond)
	var mu sync.Mutex
	var holder [fleet.Parts]string
	hold := func(n *node, name string, before fleet.Set) {
		mu.Lock()
		defer mu.Unlock()
		if lost := before.Minus(n.Own); lost.Len() > 0 {
			one.Errorf("Beat took the parts %v, which were not given up", lost)
		}
		for p := range n.Own.Minus(before).All() {
			if h := holder[p]; h != "" {
				one.Errorf("part %d was given to %s while %s has it", p, name, h)
				return
			}
			holder[p] = name
		}
	}
	members := make([]*node, nodes)
	var wg sync.WaitGroup
	for i := range nodes {
		name := fmt.Sprint("node ", i)
		n := []*fleetTest{one, two}[i%2].join(name, longLease)
		members[i] = n
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for range beats {
				give := n.Own.First(rnd.IntN(n.Own.Len() + 1))
				mu.Lock()
				for p := range give.All() {
					holder[p] = ""
				}
				mu.Unlock()
				before := n.Own.Minus(give)
				if err := n.tryBeat(suspects(dead), func(b *fleet.Beat) { b.Give, b.Want = give, rnd.IntN(400) }); err != nil {
					one.Errorf("Beat beside other beats failed: %v", err)
					return
				}
				hold(n, name, before)
			}
		})
	}
	wg.Wait()
	one.whole()
	const share = (fleet.Parts + nodes - 1) / nodes
	for _, n := range members { // give the parts above the share, then take free ones
		n.beat(func(b *fleet.Beat) { b.Give, b.Want = n.Own.Minus(n.Own.First(share)), 0 })
	}
	for _, n := range members {
		n.beat(wants(share))
	}
	one.whole()
	expect(one.storeTest, one.look().Free, 0, "when all nodes want their shares no part may be left free")
}
