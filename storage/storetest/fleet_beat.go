package storetest

import (
	"bytes"
	"fmt"

	"github.com/streamwatch/streamwatch/fleet"
)

// beatCases test the parts of a term, its generation, and what a beat stores.
func beatCases() []storeCase {
	cases := []storeCase{
		onFleet("Beat refuses an unknown term", func(t *fleetTest) {
			a := t.join("a", longLease).beat(wants(5))
			before := t.look()
			for _, term := range []string{"unknown", "*", "a", "", a.Fence.Term + " "} {
				ghost := &node{t, fleet.State{Fence: fleet.Fence{Term: term, Generation: 1}}}
				t.refused(ghost.tryBeat(wants(100)), fleet.ErrFenced, "Beat has to refuse the unknown term %q", term)
			}
			t.same(t.look(), before, "a Beat that was refused changed something")
		}),
		onFleet("Beat refuses a generation above the term's", func(t *fleetTest) {
			a := t.join("a", longLease).beat(wants(5))
			before := t.look()
			a.Fence.Generation++
			t.refused(a.tryBeat(wants(100), gives(a.Own)), fleet.ErrFenced, "Beat has to refuse a generation above the term's")
			t.same(t.look(), before, "a Beat that was refused changed something")
		}),
		onFleet("Beat lets a generation below in: an answer was lost", func(t *fleetTest) {
			a := t.join("a", longLease)
			joined := a.Fence
			a.beat(wants(5)).beat(wants(9))
			present := a.Fence
			a.Fence = joined
			a.beat(wants(9))
			expect(t.storeTest, a.Fence, present, "Beat has to answer with the term's present generation")
			expect(t.storeTest, a.Own.Len(), 9, "Beat has to answer with all parts of the term")
		}),
		onFleet("Beat gives free parts until Want", func(t *fleetTest) {
			a, b := t.join("a", longLease).beat(wants(300)), t.join("b", longLease)
			expect(t.storeTest, a.Own.Len(), 300, "Beat has to give as many parts as are wanted")
			expect(t.storeTest, a.Free, fleet.Parts-300, "Beat has to answer how many parts are free then")
			b.beat(wants(2000))
			expect(t.storeTest, b.Own, fleet.All().Minus(a.Own), "Beat has to give all parts that are free when more are wanted, and no others")
			own := a.Own
			a.beat(wants(10))
			expect(t.storeTest, a.Own, own, "Beat took parts that were not given up")
			a.beat(wants(-1))
			expect(t.storeTest, a.Own, own, "Beat took parts that were not given up")
			t.whole()
		}),
		onFleet("Beat takes what is given, as far as the term has it", func(t *fleetTest) {
			a, b := t.join("a", longLease).beat(wants(4)), t.join("b", longLease).beat(wants(4))
			theirs := b.Own
			give := a.Own.First(2)
			a.beat(gives(give.Plus(theirs).Plus(fleet.SetOf(1000))))
			expect(t.storeTest, a.Own.Len(), 2, "Beat has to take the parts that are given up")
			b.beat(wants(4))
			expect(t.storeTest, b.Own, theirs, "a Beat gave up parts of another term")
			expect(t.storeTest, b.Free, fleet.Parts-6, "parts that are given up have to be free, and each but once")
			b.beat(wants(fleet.Parts))
			expect(t.storeTest, b.Own, fleet.All().Minus(a.Own), "parts that one term gave up have to be there for another")
			t.whole()
		}),
		onFleet("Beat does not give what was just given up", func(t *fleetTest) {
			a := t.join("a", longLease).beat(wants(4))
			had := a.Own
			a.beat(func(b *fleet.Beat) { b.Give, b.Want = had, 4 })
			expect(t.storeTest, a.Own.And(had), fleet.Set{}, "Beat gave back parts of its own Give")
			expect(t.storeTest, a.Own.Len(), 4, "Beat has to give other free parts until Want")
			a.beat(func(b *fleet.Beat) { b.Give, b.Want = fleet.All(), 4 })
			expect(t.storeTest, a.Own, fleet.Set{}, "Beat gave parts that are in its own Give")
		}),
		onFleet("a member is shown with what its last beat said", func(t *fleetTest) {
			a, b := t.join("a", longLease), t.join("b", longLease)
			says := bytes.Repeat([]byte{0, '"', '\\', '\n', 255, 'x', 0xc3, '%'}, 2048) // 16 KiB
			count := t.member("a").Beats
			a.beat(wants(7), func(b *fleet.Beat) { b.Weight, b.Says = 2.5, says })
			b.beat()
			for _, st := range []fleet.State{a.State, b.State, t.look()} {
				m := st.Members[0]
				expect(t.storeTest, m.Node.Weight, 2.5, "Member.Node.Weight has to be that of the last beat")
				t.same(m.Says, says, "Member.Says has to be that of the last beat")
				expect(t.storeTest, m.Parts, a.Own, "Member.Parts has to be the term's parts")
				expect(t.storeTest, m.Beats, count+1, "Member.Beats has to grow by 1 with a beat of the term")
			}
			expect(t.storeTest, b.State.Beats, 4, "State.Beats has to count joins and beats, of all terms")
			a.beat()
			m := t.member("a")
			expect(t.storeTest, m.Node.Weight, 1, "Member.Node.Weight has to be that of the last beat")
			expect(t.storeTest, len(m.Says), 0, "Member.Says has to be that of the last beat")
			expect(t.storeTest, m.Beats, count+2, "Member.Beats has to grow by 1 with each beat of the term")
		}),
		onFleet("what Beat was given and answers shares no memory with the store", func(t *fleetTest) {
			says := []byte("says")
			a := t.join("a", longLease).beat(asks(fleet.Ask{Budget: "x", Total: 1, Rate: 1}), func(b *fleet.Beat) { b.Says = says })
			looked := t.look()
			before := fmt.Sprint(looked)
			says[0] = 'X'
			a.Grants["x"] = 7
			for _, m := range []fleet.Member{a.Members[0], looked.Members[0]} {
				m.Says[1], m.Grants["x"] = 'X', 8
			}
			expect(t.storeTest, fmt.Sprint(t.look()), before, "what Beat was given, or Beat and Look have answered, shares memory with the store")
		}),
	}
	for _, row := range []struct {
		name string
		edit func(b *fleet.Beat, own fleet.Set)
		grow uint64
	}{
		{"is the same when nothing changes", func(*fleet.Beat, fleet.Set) {}, 0},
		{"grows by one when parts are taken", func(b *fleet.Beat, _ fleet.Set) { b.Want = 9 }, 1},
		{"grows by one when parts are given", func(b *fleet.Beat, own fleet.Set) { b.Give, b.Want = own.First(1), 0 }, 1},
		{"grows by one when parts are given and others taken", func(b *fleet.Beat, own fleet.Set) { b.Give, b.Want = own.First(2), 4 }, 1},
		{"is the same when parts are given that the term has not", func(b *fleet.Beat, own fleet.Set) { b.Give = fleet.All().Minus(own) }, 0},
	} {
		cases = append(cases, onFleet("the generation "+row.name, func(t *fleetTest) {
			a := t.join("a", longLease).beat(wants(4))
			before := a.Fence
			expect(t.storeTest, before.Generation, 2, "the generation has to grow by one when parts are taken")
			a.beat(func(b *fleet.Beat) { row.edit(b, a.Own) })
			expect(t.storeTest, a.Fence, fleet.Fence{Term: before.Term, Generation: before.Generation + row.grow}, "the generation %s", row.name)
			t.refused(t.tryCommit(a.Fence, "1"), nil, "Commit with the fence that Beat answered")
			if row.grow > 0 {
				t.refused(t.tryCommit(before, "2"), fleet.ErrFenced, "Commit with the fence from before a Beat that changed the parts")
			}
		}))
	}
	return cases
}
