package detect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

// nodes are detectors that share the parts of one world and journal.
type nodes struct {
	list []*Detector
	subs []Subscription
	asks []QuerySubscription
}

// give has the i-th node have these parts, and those subscriptions set again that are
// needed.
func (n *nodes) give(t *testing.T, i int, own fleet.Set) {
	t.Helper()
	d := n.list[i]
	if err := d.SetParts(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	for _, s := range n.subs {
		s.Spread = true
		set(t, d, s)
	}
	for _, q := range n.asks {
		q.Spread = true
		setQuery(t, d, q)
	}
}

// halves are two sets that have all parts.
func halves() (a, b fleet.Set) {
	for p := range fleet.Part(fleet.Parts) {
		if p%2 == 0 {
			a.Add(p)
		} else {
			b.Add(p)
		}
	}
	return a, b
}

// Parts go back and forth between two nodes a thousand times while posts come. None is
// lost, none is an event twice, and nothing of a part is committed by a node that has
// given it up.
func TestPartsGoBackAndForth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moves := testsize.Of(60, 200, 1000)
		w := newWorld()
		rng := rand.New(rand.NewPCG(1, 2))
		names := accountNames(40)
		var n nodes
		own := [2]fleet.Set{}
		for i := range 2 {
			d := w.detector(t, func(c *settings) { c.Journal = guarded{w, t, i, &own} })
			n.list = append(n.list, d)
			if err := d.SetParts(t.Context(), fleet.Set{}); err != nil {
				t.Fatal(err)
			}
			defer start(t, d)()
		}
		n.subs = []Subscription{sub("m1", names...), sub("m2", names[20:]...)}
		a, b := halves()
		w.do(func() { own[0], own[1] = a, b })
		n.give(t, 0, a)
		n.give(t, 1, b)
		var want []string
		for k := range moves {
			for range rng.IntN(3) {
				who := rng.IntN(len(names))
				id := fmt.Sprint("p", len(want), "-", k)
				w.publish(names[who], id, 0)
				want = append(want, "m1:"+id)
				if who >= 20 {
					want = append(want, "m2:"+id)
				}
			}
			w.setSlowStore(time.Duration(rng.IntN(3)) * 50 * time.Millisecond)
			after(time.Duration(rng.IntN(4000)) * time.Millisecond)
			from := rng.IntN(2)
			gone := own[from].First(1 + rng.IntN(own[from].Len()+1))
			kept := own[from].Minus(gone)
			n.give(t, from, kept)
			w.do(func() { own[from] = kept })
			w.do(func() { own[1-from] = own[1-from].Plus(gone) })
			n.give(t, 1-from, own[1-from])
		}
		w.setSlowStore(0)
		after(time.Minute)
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d of %d: %v", len(lost), len(want), lost[:min(5, len(lost))])
		}
		if got := len(w.got()); got != len(want) {
			t.Errorf("%d events, want %d", got, len(want))
		}
	})
}

// guarded is a journal that checks that a node commits what is of its parts.
type guarded struct {
	*world
	t   *testing.T
	i   int
	own *[2]fleet.Set
}

func (g guarded) Commit(ctx context.Context, bs []*Batch) error {
	if err := g.world.Commit(ctx, bs); err != nil {
		return err
	}
	g.do(func() {
		check := func(target string) {
			if !g.own[g.i].Has(fleet.PartOf(target)) {
				g.t.Errorf("node %d committed %s, which is the other's", g.i, target)
			}
		}
		for _, b := range bs {
			if b.Cursor != nil {
				check(b.Cursor.Target)
			}
			for i := range b.Events {
				check(accounts.Key(b.Events[i].AuthorUsername))
			}
		}
	})
	return nil
}
