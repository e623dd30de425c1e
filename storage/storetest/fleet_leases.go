package storetest

import (
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// leaseCases test leases, and clocks that jump.
func leaseCases() []storeCase {
	return []storeCase{
		onFleet("a term is ended when it is suspected and its lease is over", func(t *fleetTest) {
			a, b := t.join("a", t.lease()).beat(wants(1000), asks(fleet.Ask{Budget: "x", Total: 9, Rate: 9})), t.join("b", longLease)
			t.pass(t.lease() + time.Millisecond)
			expect(t.storeTest, t.member("a").Over, true, "Over has to say that a lease is over")
			b.beat(suspects(a), wants(fleet.Parts), asks(fleet.Ask{Budget: "x", Total: 9, Rate: 9}))
			expect(t.storeTest, b.Own, fleet.All(), "Beat has to end a suspect whose lease is over, and to hand out its parts at once")
			expect(t.storeTest, grantsOf(b.Grants), "x=9", "Beat has to end a suspect whose lease is over, and to free its grants")
			expect(t.storeTest, t.members(), "b", "Beat has to end a suspect whose lease is over")
			t.refused(a.tryBeat(), fleet.ErrFenced, "Beat of a term that was ended")
			t.refused(t.tryCommit(a.Fence, "1"), fleet.ErrFenced, "Commit of a term that was ended")
			again := t.join("a", longLease).beat(wants(10))
			expect(t.storeTest, again.Own, fleet.Set{}, "a node that comes back begins without parts")
		}),
		onFleet("a suspect whose lease is not over goes on", func(t *fleetTest) {
			a, b := t.join("a", longLease).beat(wants(1000)), t.join("b", longLease)
			b.beat(suspects(a), wants(fleet.Parts))
			expect(t.storeTest, b.Own.Len(), 24, "Beat ended a suspect although its lease is not over")
			t.refused(t.tryCommit(a.Fence, "1"), nil, "Commit of a suspect whose lease is not over")
			a.beat()
			t.whole()
		}),
		onFleet("a term whose lease is over goes on while nobody suspects it", func(t *fleetTest) {
			a, b, c := t.join("a", t.lease()).beat(wants(1000)), t.join("b", longLease), t.join("c", longLease)
			t.pass(t.lease() + time.Millisecond)
			b.beat(wants(fleet.Parts), suspects(c))
			expect(t.storeTest, b.Own.Len(), 24, "Beat ended a term that nobody suspects")
			t.refused(t.tryCommit(a.Fence, "1"), nil, "Commit of a term whose lease is over, but which was not ended")
			a.beat()
			expect(t.storeTest, a.Own.Len(), 1000, "a term goes on where it was when its lease was over and nobody has ended it")
			expect(t.storeTest, t.member("a").Over, false, "a beat has to prolong a lease that was over")
			b.beat(suspects(a), wants(fleet.Parts))
			expect(t.storeTest, b.Own.Len(), 24, "Beat ended a suspect that has beaten since its lease was over")
		}),
		onFleet("no term ends itself, and unknown suspects are no matter", func(t *fleetTest) {
			a := t.join("a", t.lease()).beat(wants(10))
			t.pass(t.lease() + time.Millisecond)
			a.beat(suspects(a), func(b *fleet.Beat) { b.Suspects = append(b.Suspects, "unknown", "", "*", "a") })
			expect(t.storeTest, t.members(), "a", "Beat ended its own term")
			expect(t.storeTest, a.beat().Own.Len(), 10, "Beat freed the parts of its own term")
			t.whole()
		}),
		onFleet("a beat prolongs the lease by its length", func(t *fleetTest) {
			a, b := t.join("a", t.lease()), t.join("b", longLease)
			t.pass(t.lease() * 6 / 10)
			a.beat()
			t.pass(t.lease() * 6 / 10)
			expect(t.storeTest, t.member("a").Over, false, "Beat has to make the lease end its length from now")
			b.beat(suspects(a))
			expect(t.storeTest, t.members(), "a b", "Beat ended a suspect although it has beaten within its lease")
			t.pass(t.lease() / 2)
			b.beat(suspects(a))
			expect(t.storeTest, t.members(), "b", "Beat has to end a suspect a lease after its last beat")
		}),
		onFleet("each term has a lease of its own length", func(t *fleetTest) {
			short, long, b := t.join("short", t.lease()), t.join("long", 3*t.lease()), t.join("b", longLease)
			t.pass(t.lease() * 12 / 10)
			b.beat(suspects(short, long))
			expect(t.storeTest, t.members(), "b long", "Beat has to end the suspects whose own leases are over")
			long.beat()
			expect(t.storeTest, long.Lease, 3*t.lease(), "Beat has to answer with the length of the term's lease")
		}),
		onFleet("a clock that jumps ahead evicts nobody who beats", func(t *fleetTest) {
			a, b := t.join("a", t.lease()).beat(wants(10)), t.join("b", t.lease()).beat(wants(10))
			defer t.jump(time.Hour)()
			// Both beat, and no node suspects another. Then one suspects the other by mistake.
			a.beat()
			b.beat(suspects(a))
			expect(t.storeTest, t.members(), "a b", "a term that has beaten since the clock jumped was ended")
			expect(t.storeTest, a.beat().Own.Len(), 10, "a term lost parts because the clock jumped")
		}),
		onFleet("a lease given while the clock was ahead ends in time", func(t *fleetTest) {
			back := t.jump(time.Hour)
			a := t.join("a", t.lease()).beat(wants(10))
			back()
			b := t.join("b", longLease).beat(suspects(a))
			expect(t.storeTest, t.members(), "a b", "Beat has to move a lease that ends too late to its length from now, not to end it")
			t.pass(t.lease() + time.Millisecond)
			b.beat(suspects(a), wants(fleet.Parts))
			expect(t.storeTest, t.members(), "b", "Beat has to move leases that end later than their length from now: a store whose clock was ahead kept a dead term")
			expect(t.storeTest, b.Own, fleet.All(), "Beat has to hand out the parts of a dead term")
		}),
		onFleet("a clock that jumps back evicts nobody", func(t *fleetTest) {
			a, b := t.join("a", t.lease()).beat(wants(10)), t.join("b", t.lease())
			back := t.jump(-time.Hour)
			defer back()
			b.beat(suspects(a))
			expect(t.storeTest, t.members(), "a b", "Beat ended a suspect because the clock had stepped back")
			a.beat()
			t.pass(t.lease() / 2)
			b.beat(suspects(a))
			expect(t.storeTest, t.members(), "a b", "Beat ended a suspect that had beaten")
		}),
	}
}

// epochCases test a store that has lost its last writes.
func epochCases() []storeCase {
	lost := func(b *fleet.Beat) { b.Lost = true }
	seen := func(n uint64) func(*fleet.Beat) { return func(b *fleet.Beat) { b.Seen = n } }
	return []storeCase{
		onFleet("the epoch stays 0 while nothing is lost", func(t *fleetTest) {
			a, b := t.join("a", longLease), t.join("b", longLease)
			a.beat(seen(0)).beat().beat(seen(1))
			b.beat().beat()
			expect(t.storeTest, b.State.Beats, 7, "State.Beats has to count joins and beats")
			expect(t.storeTest, b.Epoch, 0, "an epoch was drawn although nobody has seen more beats than there are")
		}),
		onFleet("Beat draws another epoch when a node has seen more beats", func(t *fleetTest) {
			a, b := t.join("a", longLease), t.join("b", longLease)
			a.beat(seen(1000))
			first := a.Epoch
			expect(t.storeTest, first != 0, true, "Beat has to draw another epoch when Seen is above the count of beats")
			expect(t.storeTest, a.State.Beats, 1001, "Beat has to go on counting from Seen")
			b.beat()
			expect(t.storeTest, b.Epoch, first, "the epoch is the same for all, until it is drawn again")
			expect(t.storeTest, t.look().Epoch, first, "Look has to show the epoch")
			a.beat(seen(1002))
			expect(t.storeTest, a.Epoch, first, "an epoch was drawn although Seen is not above the count of beats")
			a.beat(seen(1004))
			expect(t.storeTest, a.Epoch != first && a.Epoch != 0, true, "Beat has to draw another epoch each time")
		}),
		onFleet("Join draws another epoch when a node has seen more beats", func(t *fleetTest) {
			n, err := t.tryJoin(fleet.Node{Name: "a", Weight: 1, Lease: longLease, Seen: 5})
			t.ok(err, "Members.Join")
			expect(t.storeTest, n.Epoch != 0, true, "Join has to draw another epoch when Seen is above the count of beats")
			expect(t.storeTest, n.State.Beats, 6, "Join has to go on counting from Seen")
		}),
		onFleet("Beat draws another epoch when numbers were given twice", func(t *fleetTest) {
			a := t.join("a", longLease).beat().beat(lost, seen(1))
			first := a.Epoch
			expect(t.storeTest, first != 0, true, "Beat has to draw another epoch when Lost is set")
			expect(t.storeTest, a.State.Beats, 3, "Beat made the count of beats lower, or counted twice")
			a.beat(lost)
			expect(t.storeTest, a.Epoch != first && a.Epoch != 0, true, "Beat has to draw another epoch each time")
		}),
	}
}
