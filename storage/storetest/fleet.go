package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// longLease is a lease that does not expire during a case.
const longLease = 10 * time.Minute

// fleetTest is a store that several engines may share.
type fleetTest struct{ *storeTest }

// onFleet returns a case for a store with Members. Other stores skip it.
func onFleet(name string, run func(*fleetTest)) storeCase {
	return storeCase{name: name, run: func(t *storeTest) {
		if t.store.Ports().Members == nil {
			t.Skip("the store has no Members")
		}
		run(&fleetTest{t})
	}}
}

// onDurableFleet is onFleet for stores that are Durable, too.
func onDurableFleet(name string, run func(*fleetTest)) storeCase {
	c := onFleet(name, run)
	c.needs = needsDurable
	return c
}

// twice returns a case with two nodes. If Kit.Features.Shared is set, each has its own store on the
// same data, otherwise both use one store.
func twice(run func(one, two *fleetTest)) func(*fleetTest) {
	return func(t *fleetTest) {
		t.besides(func(two *storeTest) { run(t, &fleetTest{two}) })
	}
}

// besides calls run with a second store on the same data if Kit.Features.Shared is set, otherwise
// with t itself.
func (t *storeTest) besides(run func(two *storeTest)) {
	if !t.kit.Features.Shared {
		run(t)
		return
	}
	two := *t
	two.store = t.kit.Join(t.TB, t.store)
	defer two.close()
	run(&two)
}

// lease returns the length of a lease that the case lets expire with pass. It is short if the case
// must wait for that in real time.
func (t *fleetTest) lease() time.Duration {
	if t.kit.moveLeases(0) {
		return 10 * time.Second
	}
	return 2 * time.Second
}

// pass lets time pass for leases: it moves their clock, or waits if that cannot be moved.
func (t *fleetTest) pass(d time.Duration) {
	t.Helper()
	if t.kit.moveLeases(d) {
		return
	}
	if testing.Short() {
		t.Skip("NOT TESTED: waits for leases to end, since their clock cannot be moved")
	}
	t.ok(sleep(t.Context(), d), "waiting")
}

// jump moves the clock of leases, forwards or back, and returns a function that undoes this. It
// skips the case if the clock cannot be moved.
func (t *fleetTest) jump(d time.Duration) (back func()) {
	t.Helper()
	if !t.kit.moveLeases(d) {
		t.Skip("NOT TESTED: the clock of leases cannot be moved, see Kit.LeaseClock")
	}
	return func() { t.kit.moveLeases(-d) }
}

// node is a member of the fleet, played by the case.
type node struct {
	*fleetTest
	fleet.State // of the last answer
}

// tryJoin begins a term with n.
func (t *fleetTest) tryJoin(n fleet.Node) (*node, error) {
	st, err := t.store.Ports().Members.Join(t.Context(), n)
	return &node{t, st}, err
}

// join is a tryJoin that has to succeed.
func (t *fleetTest) join(name string, lease time.Duration) *node {
	t.Helper()
	n, err := t.tryJoin(fleet.Node{Name: name, Weight: 1, Lease: lease, Fingerprint: "f"})
	t.ok(err, "Members.Join")
	return n
}

// tryBeat beats with the fence of the last answer. edits change the beat before that.
func (n *node) tryBeat(edits ...func(*fleet.Beat)) error {
	b := fleet.Beat{Fence: n.Fence, Want: n.Own.Len(), Weight: 1, Seen: n.Beats}
	for _, edit := range edits {
		edit(&b)
	}
	st, err := n.store.Ports().Members.Beat(n.Context(), b)
	if err == nil {
		n.State = st
	}
	return err
}

// beat is a tryBeat that has to succeed.
func (n *node) beat(edits ...func(*fleet.Beat)) *node {
	n.Helper()
	n.ok(n.tryBeat(edits...), "Members.Beat")
	return n
}

func (n *node) leave() {
	n.Helper()
	n.ok(n.store.Ports().Members.Leave(n.Context(), n.Fence), "Members.Leave")
}

func wants(k int) func(*fleet.Beat) { return func(b *fleet.Beat) { b.Want = k } }

// gives gives parts up, and wants none in their place.
func gives(parts fleet.Set) func(*fleet.Beat) {
	return func(b *fleet.Beat) { b.Give, b.Want = parts, 0 }
}

func suspects(ns ...*node) func(*fleet.Beat) {
	return func(b *fleet.Beat) {
		for _, n := range ns {
			b.Suspects = append(b.Suspects, n.Fence.Term)
		}
	}
}

func asks(as ...fleet.Ask) func(*fleet.Beat) { return func(b *fleet.Beat) { b.Asks = as } }

func (t *fleetTest) look() fleet.State {
	t.Helper()
	st, err := t.store.Ports().Members.Look(t.Context())
	t.ok(err, "Members.Look")
	return st
}

// members returns the names of the terms.
func (t *fleetTest) members() string {
	t.Helper()
	return joined(t.look().Members, func(m fleet.Member) string { return m.Node.Name })
}

// member returns the term of that name as others see it.
func (t *fleetTest) member(name string) fleet.Member {
	t.Helper()
	for _, m := range t.look().Members {
		if m.Node.Name == name {
			return m
		}
	}
	t.Fatalf("Members.Look does not show %q", name)
	return fleet.Member{}
}

// whole fails the case unless each part is either free or belongs to one term.
func (t *fleetTest) whole() {
	t.Helper()
	st := t.look()
	var of fleet.Set
	sum := st.Free
	for _, m := range st.Members {
		if both := of.And(m.Parts); both.Len() > 0 {
			t.Errorf("the parts %v are of two terms, one of them %q's", both, m.Node.Name)
		}
		of = of.Plus(m.Parts)
		sum += m.Parts.Len()
	}
	expect(t.storeTest, sum, fleet.Parts, "the free parts and those of all terms have to be all there are")
}

// tryCommit commits an event, a cursor and a charge of 1 for each tweet, with the fence f.
func (t *fleetTest) tryCommit(f fleet.Fence, tweets ...string) error {
	var bs []*detect.Batch
	for _, tweet := range tweets {
		bs = append(bs, &detect.Batch{
			Cursor: &detect.Cursor{Target: "target", Since: t.start, UserID: tweet}, Events: []deliver.Event{newEvent(acme, tweet, "log")},
			Charges: []billing.Entry{line("charge of "+tweet, -1)}, DeliverBy: t.start, Fence: f,
		})
	}
	return t.store.Ports().Journal.Commit(t.Context(), bs)
}

// kept describes what the calls of tryCommit have left in the store.
func (t *fleetTest) kept() string {
	t.Helper()
	return fmt.Sprintf("events %s, cursor %s, balance %s, due %d", t.logged("acme"),
		joined(t.cursors("target"), func(c detect.Cursor) string { return c.UserID }), t.balance("acme"), len(t.claim(t.start.Add(-lease), 100)))
}

// grantsOf describes grants.
func grantsOf(g map[string]float64) string {
	var parts []string
	for budget, rate := range g {
		parts = append(parts, fmt.Sprintf("%s=%g", budget, rate))
	}
	slices.SortFunc(parts, cmp.Compare[string])
	return strings.Join(parts, " ")
}
