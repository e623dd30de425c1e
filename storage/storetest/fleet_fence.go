package storetest

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// fenceCases test the fences that commits carry.
func fenceCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name string
		of   func(present fleet.Fence) fleet.Fence
		want error
	}{
		{"the present fence of a term", func(f fleet.Fence) fleet.Fence { return f }, nil},
		{"a generation that is over", func(f fleet.Fence) fleet.Fence { f.Generation--; return f }, fleet.ErrFenced},
		{"the generation of the join", func(f fleet.Fence) fleet.Fence { f.Generation = 1; return f }, fleet.ErrFenced},
		{"a generation that is not there yet", func(f fleet.Fence) fleet.Fence { f.Generation++; return f }, fleet.ErrFenced},
		{"generation 0", func(f fleet.Fence) fleet.Fence { f.Generation = 0; return f }, fleet.ErrFenced},
		{"an unknown term", func(f fleet.Fence) fleet.Fence { f.Term = "unknown"; return f }, fleet.ErrFenced},
		{"the name of a node", func(f fleet.Fence) fleet.Fence { f.Term = "a"; return f }, fleet.ErrFenced},
		{"no fence while a term lives", func(fleet.Fence) fleet.Fence { return fleet.Fence{} }, fleet.ErrShared},
	} {
		cases = append(cases, onFleet("a commit that shows "+row.name, func(t *fleetTest) {
			t.topUp("acme", 10)
			n := t.join("a", longLease).beat(wants(4)).beat(wants(8))
			t.ok(t.tryCommit(n.Fence, "1"), "Journal.Commit with the present fence")
			expect(t.storeTest, t.kept(), "events 1:1, cursor 1, balance 9+0, due 0", "a commit with the present fence has to be stored")
			t.refused(t.tryCommit(row.of(n.Fence), "2", "3"), row.want, "Commit with %s", row.name)
			if row.want == nil {
				expect(t.storeTest, t.kept(), "events 1:1 2:2 3:3, cursor 3, balance 7+0, due 0", "a commit with %s has to be stored", row.name)
				return
			}
			expect(t.storeTest, t.kept(), "events 1:1, cursor 1, balance 9+0, due 0", "a commit that was refused for its fence changed something")
			expect(t.storeTest, t.members(), "a", "a commit that was refused for its fence ended a term")
			t.ok(t.tryCommit(n.Fence, "2", "3"), "Journal.Commit again with the present fence")
			expect(t.storeTest, t.kept(), "events 1:1 2:2 3:3, cursor 3, balance 7+0, due 0", "what was refused for its fence has to be new when it is committed again, and to leave no hole")
		}))
	}
	return append(cases,
		onFleet("one batch with an old fence refuses the whole commit", func(t *fleetTest) {
			t.topUp("acme", 10)
			n := t.join("a", longLease)
			old := n.Fence
			n.beat(wants(4))
			for _, before := range []int{1, 16, 1024} { // stores may write so many at a time
				bs := make([]*detect.Batch, before+2)
				for i := range bs {
					bs[i] = &detect.Batch{Events: newEvents(acme, fmt.Sprint(i)), Cursor: &detect.Cursor{Target: "target"}, Fence: n.Fence}
				}
				bs[before].Fence = old
				t.refused(t.store.Ports().Journal.Commit(t.Context(), bs), fleet.ErrFenced, "Commit of which one batch has an old fence, behind %d others", before)
				expect(t.storeTest, t.kept(), "events , cursor , balance 10+0, due 0", "a commit of which one batch has an old fence changed something")
				bs[before].Fence = fleet.Fence{}
				t.refused(t.store.Ports().Journal.Commit(t.Context(), bs), fleet.ErrShared, "Commit of which one batch has no fence while a term lives, behind %d others", before)
				expect(t.storeTest, t.kept(), "events , cursor , balance 10+0, due 0", "a commit of which one batch has no fence changed something")
			}
		}),
		onFleet("a commit without a fence is stored while there is no term", func(t *fleetTest) {
			t.ok(t.tryCommit(fleet.Fence{}, "1"), "Journal.Commit without a fence on a store that nobody has joined")
			n := t.join("a", longLease)
			t.refused(t.tryCommit(fleet.Fence{}, "2"), fleet.ErrShared, "Commit without a fence after a Join")
			n.leave()
			t.ok(t.tryCommit(fleet.Fence{}, "2"), "Journal.Commit without a fence after the only term has left")
			expect(t.storeTest, t.logged("acme"), "1:1 2:2", "the events of commits without a fence")
		}),
		onFleet("a commit without a fence ends terms whose leases are over", func(t *fleetTest) {
			a := t.join("a", t.lease()).beat(wants(500))
			t.join("b", t.lease()).beat(wants(500))
			t.pass(t.lease() + time.Millisecond)
			t.ok(t.tryCommit(fleet.Fence{}, "1"), "Journal.Commit without a fence when the leases of all terms are over")
			st := t.look()
			expect(t.storeTest, len(st.Members), 0, "a commit without a fence has to end the terms whose leases are over")
			expect(t.storeTest, st.Free, fleet.Parts, "a commit without a fence has to free the parts of terms whose leases are over")
			t.refused(t.tryCommit(a.Fence, "2"), fleet.ErrFenced, "Commit of a term that was ended by an engine that is alone")
			t.refused(a.tryBeat(), fleet.ErrFenced, "Beat of a term that was ended by an engine that is alone")
			expect(t.storeTest, t.logged("acme"), "1:1", "the events of commits")
		}),
		onFleet("one living term is enough to refuse a commit without a fence", func(t *fleetTest) {
			t.join("a", t.lease())
			b := t.join("b", longLease)
			t.pass(t.lease() + time.Millisecond)
			t.refused(t.tryCommit(fleet.Fence{}, "1"), fleet.ErrShared, "Commit without a fence while one of two terms lives")
			expect(t.storeTest, t.members(), "a b", "a commit that was refused ended a term")
			t.ok(t.tryCommit(b.Fence, "1"), "Journal.Commit of the living term")
		}),
		onFleet("an event that is known has to show a fence, too", func(t *fleetTest) {
			n := t.join("a", longLease)
			old := n.Fence
			t.ok(t.tryCommit(old, "1"), "Journal.Commit")
			n.beat(wants(1))
			t.refused(t.tryCommit(old, "1"), fleet.ErrFenced, "Commit of what is known, with an old fence")
			b := &detect.Batch{Cursor: &detect.Cursor{Target: "other"}, Fence: old}
			t.refused(t.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}), fleet.ErrFenced, "Commit of a cursor alone, with an old fence")
			expect(t.storeTest, len(t.cursors("other")), 0, "a cursor was stored although its fence is old")
		}),
	)
}
