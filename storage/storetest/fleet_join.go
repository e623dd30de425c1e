package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// joinCases test Join, Leave and Look.
func joinCases() []storeCase {
	return []storeCase{
		onFleet("a store that nobody has joined has all parts free", func(t *fleetTest) {
			st := t.look()
			t.same(st, fleet.State{Free: fleet.Parts}, "Look of a store that was just opened")
		}),
		onFleet("Join begins a term with generation 1 and without parts", func(t *fleetTest) {
			n := t.join("a", longLease)
			expect(t.storeTest, n.Fence.Generation, 1, "Join has to begin with generation 1")
			if n.Fence.Term == "" || strings.ContainsAny(n.Fence.Term, " \t\n") {
				t.Errorf("Join gave the term %q: want a random one without spaces", n.Fence.Term)
			}
			expect(t.storeTest, n.Own, fleet.Set{}, "Join gave parts")
			expect(t.storeTest, n.Lease, longLease, "Join has to answer with the length of the lease")
			expect(t.storeTest, n.Free, fleet.Parts, "Join has to answer how many parts are free")
			expect(t.storeTest, n.State.Beats, 1, "a join has to be counted in State.Beats")
			expect(t.storeTest, n.Epoch, 0, "the epoch of a store that has lost nothing is 0")
			expect(t.storeTest, len(n.Members), 1, "Join has to answer with the term itself among the members")
			other := t.join("b", longLease)
			expect(t.storeTest, other.Fence.Term == n.Fence.Term, false, "two terms have one id")
			expect(t.storeTest, other.State.Beats, 2, "a join has to be counted in State.Beats")
		}),
		onFleet("a member is shown as it joined, without Seen", func(t *fleetTest) {
			want := fleet.Node{Name: strings.Repeat("n", 64), Weight: 0.375 * 0x1p-40 /* passive */, Lease: 1001 * time.Millisecond, Fingerprint: strings.Repeat("f", 64), Seen: 0}
			n, err := t.tryJoin(want)
			t.ok(err, "Members.Join")
			for _, st := range []fleet.State{n.State, t.look()} {
				if len(st.Members) != 1 {
					t.Fatalf("%d members are shown, want 1", len(st.Members))
				}
				t.same(st.Members[0].Node, want, "Member.Node is not what Join was given")
				expect(t.storeTest, st.Members[0].Term, n.Fence.Term, "Member.Term is not the term")
				expect(t.storeTest, st.Members[0].Over, false, "a lease that has just begun is not over")
			}
			m, err := t.tryJoin(fleet.Node{Name: "other", Weight: 2, Lease: time.Second, Seen: n.Beats})
			t.ok(err, "Members.Join")
			expect(t.storeTest, t.member("other").Node.Seen, 0, "Member.Node has to be without Seen")
			expect(t.storeTest, m.Lease, time.Second, "Join has to answer with the length of the lease")
		}),
		onFleet("members are shown by name, byte by byte, and text survives", func(t *fleetTest) {
			names := []string{"b", "a", "a:b", "a\x00b", "żółw 🚀", "{tag} %s", "' OR 1", " a ", "A", "c\r\n"}
			for _, name := range names {
				n, err := t.tryJoin(fleet.Node{Name: name, Weight: 1, Lease: longLease, Fingerprint: "of " + name})
				t.ok(err, "Members.Join")
				n.beat(wants(10), func(b *fleet.Beat) { b.Says = []byte("says " + name) })
			}
			st := t.look()
			expect(t.storeTest, fmt.Sprintf("%q", joined(st.Members, func(m fleet.Member) string { return m.Node.Name })),
				fmt.Sprintf("%q", strings.Join([]string{" a ", "' OR 1", "A", "a", "a\x00b", "a:b", "b", "c\r\n", "{tag} %s", "żółw 🚀"}, " ")), "members have to be ordered by name")
			for _, m := range st.Members {
				expect(t.storeTest, m.Node.Fingerprint, "of "+m.Node.Name, "the fingerprint of %q", m.Node.Name)
				expect(t.storeTest, string(m.Says), "says "+m.Node.Name, "Says of %q", m.Node.Name)
				expect(t.storeTest, m.Parts.Len(), 10, "parts of %q", m.Node.Name)
			}
			t.whole()
		}),
		onFleet("Join ends a term of the same name, whatever its lease", func(t *fleetTest) {
			first := t.join("a", longLease).beat(wants(100), asks(fleet.Ask{Budget: "x", Total: 10, Rate: 10}))
			second := t.join("a", longLease)
			expect(t.storeTest, second.Free, fleet.Parts, "Join has to free the parts of the term that it ends")
			expect(t.storeTest, t.members(), "a", "Join has to end the term of the same name")
			t.refused(first.tryBeat(), fleet.ErrFenced, "Beat of a term that was ended by a Join of the same name")
			t.refused(t.tryCommit(first.Fence, "1"), fleet.ErrFenced, "Commit of a term that was ended by a Join of the same name")
			other := t.join("b", longLease).beat(asks(fleet.Ask{Budget: "x", Total: 10, Rate: 10}))
			expect(t.storeTest, grantsOf(other.Grants), "x=10", "Join has to free the grants of the term that it ends")
			second.beat(wants(fleet.Parts))
			expect(t.storeTest, second.Own, fleet.All(), "a term has to get what another of its name had")
		}),
		onFleet("Leave ends a term, and frees its parts and grants", func(t *fleetTest) {
			a := t.join("a", longLease).beat(wants(600), asks(fleet.Ask{Budget: "x", Total: 10, Rate: 8}))
			b := t.join("b", longLease).beat(wants(600), asks(fleet.Ask{Budget: "x", Total: 10, Rate: 8}))
			expect(t.storeTest, b.Own.Len(), fleet.Parts-600, "Beat has to give the parts that are free, and no others")
			a.leave()
			expect(t.storeTest, t.members(), "b", "Leave has to end the term")
			t.refused(a.tryBeat(), fleet.ErrFenced, "Beat after Leave")
			t.refused(t.tryCommit(a.Fence, "1"), fleet.ErrFenced, "Commit after Leave")
			b.beat(wants(fleet.Parts), asks(fleet.Ask{Budget: "x", Total: 10, Rate: 8}))
			expect(t.storeTest, b.Own, fleet.All(), "Leave has to free the parts")
			expect(t.storeTest, grantsOf(b.Grants), "x=8", "Leave has to free the grants")
		}),
		onFleet("Leave looks at the term alone", func(t *fleetTest) {
			a, b := t.join("a", longLease), t.join("b", longLease)
			t.ok(t.store.Ports().Members.Leave(t.Context(), fleet.Fence{Term: a.Fence.Term, Generation: 77}), "Members.Leave of another generation")
			expect(t.storeTest, t.members(), "b", "Leave has to look at the term alone")
			t.ok(t.store.Ports().Members.Leave(t.Context(), a.Fence), "Members.Leave again")
			t.ok(t.store.Ports().Members.Leave(t.Context(), fleet.Fence{Term: "unknown * term", Generation: 1}), "Members.Leave of an unknown term")
			t.ok(t.store.Ports().Members.Leave(t.Context(), fleet.Fence{}), "Members.Leave of no term")
			expect(t.storeTest, t.members(), "b", "Leave of an unknown term ended another")
			b.beat()
		}),
		onFleet("Look shows what Beat answers, without what is about one term", func(t *fleetTest) {
			t.join("b", longLease).beat(wants(3))
			a := t.join("a", longLease).beat(wants(5), asks(fleet.Ask{Budget: "x", Total: 4, Rate: 3}), func(b *fleet.Beat) { b.Says = []byte{0, 1, 255} })
			want := a.State
			want.Fence, want.Own, want.Lease, want.Grants = fleet.Fence{}, fleet.Set{}, 0, nil
			t.same(t.look(), want, "Look has to show the present state")
			t.same(t.look(), want, "Look changed something")
		}),
	}
}
