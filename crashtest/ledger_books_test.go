package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// onPaper does a whole plan by its letter, one operation after the other, for an
// owner each with credits enough, and gives the books and what a store would say.
func onPaper(t *testing.T) (*books, *state) {
	t.Helper()
	b := newBooks(ledgerPlan{Seed: 5, Ops: blockOps, Workers: 4})
	s := &state{Balances: make(map[string]balance)}
	enter := func(letter byte, id int) {
		e := b.entry(letter, id)
		if letter == hold {
			e.Amount = -e.Amount
		}
		has := s.Balances[e.Owner]
		has.Available += e.Amount
		s.Balances[e.Owner] = has
		e.Balance = has.Available + has.Reserved
		s.Entries = append(s.Entries, e)
	}
	// All top-ups come first, so that nothing is refused.
	kinds := make(map[string]map[int]string) // what was done to an id
	for _, do := range []string{doTopUp, doAppend, doReserve} {
		kinds[do] = make(map[int]string)
	}
	for n := range b.Ops {
		if do, id := b.chance(n); do == doTopUp && kinds[do][id] == "" {
			kinds[do][id] = do
			enter(topUp, id)
		}
	}
	for n := range b.Ops {
		do, id := b.chance(n)
		answer := ""
		held := kinds[doReserve][id]
		owner, amount := b.money(hold, id)
		has := s.Balances[owner]
		switch {
		case do == doTopUp:
		case do == doAppend && kinds[do][id] == "":
			mine, _ := b.money(charge, id)
			other, _ := b.money(alsoCharge, id)
			if s.Balances[mine].Available < 1000 || s.Balances[other].Available < 1000 {
				answer = wasInsufficient
				break
			}
			kinds[do][id] = do
			enter(charge, id)
			enter(alsoCharge, id)
		case do == doAppend:
		case do == doReserve && held == "" && has.Available < amount:
			answer = wasInsufficient
		case do == doReserve && held == "":
			kinds[do][id] = do
			s.Reservations = append(s.Reservations, reservation{ID: ledgerID(hold, id), Owner: owner, Amount: amount})
			s.Balances[owner] = balance{has.Available - amount, has.Reserved + amount}
		case do == doReserve && held != doReserve:
			answer = wasResolved
		case do == doReserve:
		case held == "":
			answer = wasGone
		case held == doReserve:
			kinds[doReserve][id] = do
			s.Reservations = slices.DeleteFunc(s.Reservations, func(r reservation) bool { return r.ID == ledgerID(hold, id) })
			s.Balances[owner] = balance{has.Available + amount, has.Reserved - amount}
			if do == doCommit {
				enter(hold, id)
			}
		case held != do:
			answer = wasResolved
		}
		b.answered(n, answer)
	}
	for _, r := range slices.Clone(s.Reservations) { // those that last a moment
		var id int
		if _, err := fmt.Sscanf(r.ID, "r%d", &id); err != nil {
			t.Fatal(err)
		}
		if b.brief(id) {
			s.Reservations = slices.DeleteFunc(s.Reservations, func(o reservation) bool { return o.ID == r.ID })
			has := s.Balances[r.Owner]
			s.Balances[r.Owner] = balance{has.Available + r.Amount, has.Reserved - r.Amount}
		}
	}
	enter(last, 0)
	enter(last, 1)
	return b, s
}

func TestBooksThatAreRight(t *testing.T) {
	b, s := onPaper(t)
	if found := b.check(s, true); len(found) > 0 {
		t.Errorf("found %v where all is as it should be", found)
	}
	if len(s.Reservations) == 0 || b.refused == 0 || len(s.Entries) < 300 {
		t.Errorf("%d reservations, %d refused, %d entries: too little happens", len(s.Reservations), b.refused, len(s.Entries))
	}
}

// Each row does one thing to right books, or to the store, that must not happen.
func TestBooksFindViolations(t *testing.T) {
	entryOf := func(s *state, letter byte) int {
		return slices.IndexFunc(s.Entries, func(e entry) bool { return e.ID[0] == letter && e.Amount != 0 })
	}
	for _, row := range []struct {
		name string
		do   func(*books, *state)
		want string
	}{
		{"a lost top-up", func(_ *books, s *state) { i := entryOf(s, topUp); s.Entries = slices.Delete(s.Entries, i, i+1) }, "was confirmed and is not there"},
		{"a lost charge", func(_ *books, s *state) { i := entryOf(s, hold); s.Entries = slices.Delete(s.Entries, i, i+1) }, "was confirmed and is not there"},
		{"half of a call", func(_ *books, s *state) { i := entryOf(s, alsoCharge); s.Entries = slices.Delete(s.Entries, i, i+1) }, "without the other"},
		{"an entry twice", func(_ *books, s *state) { s.Entries = append(s.Entries, s.Entries[3]) }, "is there twice"},
		{"an entry of nobody", func(_ *books, s *state) { s.Entries = append(s.Entries, entry{ID: "x", Owner: rich}) }, "nobody asked for it"},
		{"an entry that was refused", func(b *books, s *state) { b.charges[b.idOf(t, s.Entries[entryOf(s, charge)])] = 0 }, "nobody was told that it is made"},
		{"another amount", func(_ *books, s *state) { s.Entries[entryOf(s, charge)].Amount-- }, " want "},
		{"a debt on the way", func(_ *books, s *state) { s.Entries[9].Balance = -1 }, "a balance of -1"},
		{"a balance that does not add up", func(_ *books, s *state) { s.Entries[9].Balance-- }, "the entries until then sum up to"},
		{"a debt", func(_ *books, s *state) {
			h := s.Balances[poor]
			s.Balances[poor] = balance{-5, h.Available + h.Reserved + 5}
		}, "has -5 available"},
		{"a credit from nowhere", func(_ *books, s *state) {
			h := s.Balances[rich]
			s.Balances[rich] = balance{h.Available + 1, h.Reserved}
		}, "the entries sum up to"},
		{"a hold that is gone", func(_ *books, s *state) {
			r := s.Reservations[0]
			s.Reservations = s.Reservations[1:]
			h := s.Balances[r.Owner]
			s.Balances[r.Owner] = balance{h.Available + r.Amount, h.Reserved - r.Amount}
		}, "was confirmed and is not held"},
		{"a hold that nobody lists is gone", func(_ *books, s *state) {
			r := s.Reservations[0]
			s.ReservationsHidden, s.Reservations = true, nil
			h := s.Balances[r.Owner]
			s.Balances[r.Owner] = balance{h.Available + r.Amount, h.Reserved - r.Amount}
		}, " reserved, want "},
		{"a hold that was resolved", func(b *books, s *state) { b.holds[b.idOf(t, entry{ID: s.Reservations[0].ID})].released = 9 }, "is held"},
		{"committed and released", func(b *books, s *state) { b.again(doRelease, func(h *holdFacts) bool { return h.committed > 0 }, "") }, "resolved both ways"},
		{"reserved again", func(b *books, s *state) {
			b.again(doReserve, func(h *holdFacts) bool { return h.released > 0 || h.committed > 0 }, "")
		}, "was answered"},
		{"reserved, and not known", func(b *books, s *state) {
			b.again(doCommit, func(h *holdFacts) bool { return h.reserved > 0 }, wasGone)
		}, "was answered"},
		{"resolved by nobody", func(b *books, s *state) { b.holds[b.idOf(t, entry{ID: s.Reservations[0].ID})].notCommitted = 9 }, "nobody has resolved it"},
		{"an unknown error", func(b *books, s *state) {
			b.again(doTopUp, func(h *holdFacts) bool { return true }, "disk full")
		}, "was answered"},
		{"an answer twice", func(b *books, s *state) { b.answered(0, "") }, "was answered"},
		{"a damaged file", func(_ *books, s *state) { s.Damage = "damaged file: page 7" }, "page 7"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, s := onPaper(t)
			row.do(b, s)
			found := b.check(s, true)
			if !slices.ContainsFunc(found, func(v violation) bool { return strings.Contains(v.Text, row.want) }) {
				t.Errorf("found %v, want one that says %q", found, row.want)
			}
		})
	}
}

func (b *books) idOf(t *testing.T, e entry) (id int) {
	t.Helper()
	if _, err := fmt.Sscanf(e.ID[1:], "%d", &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// again takes the newest operation of that kind back, on an id that is so, and has it
// answered anew after all the others.
func (b *books) again(do string, so func(*holdFacts) bool, answer string) {
	b.started()
	for n := b.Ops - 1; n >= 0; n-- {
		if did, id := b.chance(n); did == do && so(&b.holds[id]) {
			w := n % b.Workers
			b.done[w] = n / b.Workers
			b.answered(n, answer)
			b.done[w] = (b.Ops - w + b.Workers - 1) / b.Workers
			return
		}
	}
}
