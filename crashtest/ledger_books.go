package main

import (
	"fmt"
	"strconv"
)

// books record what a ledger has promised with its answers. They know the plan of
// operations, and use none of the ledger's code.
type books struct {
	ledgerPlan
	done []int // operations that were answered, by worker
	// asked is, by worker, the earliest moment at which its open operation can have
	// been asked. A moment is the number of answers until then.
	asked   []int
	now     int
	topUps  []int // the moment when a top-up was first confirmed, by id; 0 for never
	charges []int // likewise for a charge of two entries
	holds   []holdFacts
	refused int // operations, for lack of credits
	found   []violation
}

// holdFacts are the moments at which an answer first said something about a
// reservation; 0 for never.
type holdFacts struct {
	reserved, committed, released int
	// Refused, because it was resolved.
	notReserved, notCommitted, notReleased int
}

func newBooks(p ledgerPlan) *books {
	return &books{ledgerPlan: p, done: make([]int, p.Workers), asked: make([]int, p.Workers),
		topUps: make([]int, p.ids()), charges: make([]int, p.ids()), holds: make([]holdFacts, p.ids())}
}

func (b *books) broke(format string, args ...any) {
	b.found = append(b.found, violation{"I5", fmt.Sprintf(format, args...)})
}

// started records that a new process starts: whatever it does, it does after all
// answers until now.
func (b *books) started() {
	for w := range b.asked {
		b.asked[w] = b.now
	}
}

// answered records the answer to operation n, and checks it against the answers
// that had come before n was asked.
func (b *books) answered(n int, answer string) {
	w := n % b.Workers
	if n < 0 || n != w+b.done[w]*b.Workers || n >= b.Ops {
		b.broke("operation %d was answered, and worker %d has %d answers", n, w, b.done[w])
		return
	}
	asked := b.asked[w]
	b.now++
	b.done[w]++
	b.asked[w] = b.now
	before := func(when int) bool { return when > 0 && when <= asked }
	first := func(when *int) {
		if *when == 0 {
			*when = b.now
		}
	}
	if answer == wasInsufficient {
		b.refused++
	}
	do, id := b.chance(n)
	h := &b.holds[id]
	wrong := false
	switch do + ": " + answer {
	case doTopUp + ": ":
		first(&b.topUps[id])
	case doAppend + ": ":
		first(&b.charges[id])
	case doAppend + ": " + wasInsufficient:
		wrong = before(b.charges[id])
	case doReserve + ": ":
		first(&h.reserved)
		wrong = before(h.committed) || before(h.released)
	case doReserve + ": " + wasInsufficient:
		wrong = before(h.reserved)
	case doReserve + ": " + wasResolved:
		first(&h.notReserved)
	case doCommit + ": ":
		first(&h.committed)
	case doRelease + ": ":
		first(&h.released)
	case doCommit + ": " + wasResolved:
		first(&h.notCommitted)
	case doRelease + ": " + wasResolved:
		first(&h.notReleased)
	case doCommit + ": " + wasGone, doRelease + ": " + wasGone:
		wrong = before(h.reserved)
	default:
		wrong = true
	}
	if wrong {
		b.broke("operation %d, %s of id %d, was answered %q; of its reservation is known %+v", n, do, id, answer, *h)
	}
	if h.committed > 0 && (h.released > 0 || h.notCommitted > 0) || h.released > 0 && h.notReleased > 0 {
		b.broke("reservation %d was resolved both ways: %+v", id, *h)
	}
}

// doubts are the operations that may have been asked and were not answered, by what
// they do and to which id.
func (b *books) doubts() map[string]map[int]bool {
	d := make(map[string]map[int]bool)
	for _, do := range []string{doTopUp, doAppend, doReserve, doCommit, doRelease} {
		d[do] = make(map[int]bool)
	}
	for w, done := range b.done {
		if n := w + done*b.Workers; n < b.Ops {
			do, id := b.chance(n)
			d[do][id] = true
		}
	}
	return d
}

// check compares what a store holds with what was answered. With ended, all
// operations were answered, the brief reservations have expired, and there was a
// write for every owner after that.
func (b *books) check(s *state, ended bool) []violation {
	if s.Damage != "" {
		return append(b.found, violation{"store", s.Damage})
	}
	d := b.doubts()
	seen := make(map[string]bool, len(s.Entries))
	sums := make(map[string]int64)
	for _, e := range s.Entries {
		if seen[e.ID] {
			b.broke("entry %s is there twice", e.ID)
		}
		seen[e.ID] = true
		b.mayBe(e, d, ended)
		sums[e.Owner] += e.Amount
		if e.Balance < 0 || e.Balance != sums[e.Owner] {
			b.broke("entry %s left %s a balance of %d, and the entries until then sum up to %d", e.ID, e.Owner, e.Balance, sums[e.Owner])
		}
	}
	for id := range b.holds {
		for letter, when := range map[byte]int{topUp: b.topUps[id], charge: b.charges[id], hold: b.holds[id].committed} {
			if when > 0 && !seen[ledgerID(letter, id)] {
				b.broke("entry %s was confirmed and is not there", ledgerID(letter, id))
			}
		}
		if seen[ledgerID(charge, id)] != seen[ledgerID(alsoCharge, id)] {
			b.broke("one of the entries %s and %s is there without the other", ledgerID(charge, id), ledgerID(alsoCharge, id))
		}
		if h := b.holds[id]; ended && (h.notReleased > 0 && h.committed == 0 ||
			!b.brief(id) && h.committed == 0 && h.released == 0 && (h.notReserved > 0 || h.notCommitted > 0)) {
			b.broke("reservation %d was called resolved, and nobody has resolved it: %+v", id, h)
		}
	}
	b.checkHeld(s, d, ended, sums)
	return b.found
}

// mayBe checks that an entry was asked for, that it was confirmed or is in doubt,
// and that it has the owner and amount it should have.
func (b *books) mayBe(e entry, d map[string]map[int]bool, ended bool) {
	id, err := strconv.Atoi(e.ID[1:])
	if err != nil || id < 0 || id >= b.ids() {
		b.broke("entry %s: nobody asked for it", e.ID)
		return
	}
	made := false
	switch letter := e.ID[0]; letter {
	case topUp:
		made = b.topUps[id] > 0 || d[doTopUp][id]
	case charge, alsoCharge:
		made = b.charges[id] > 0 || d[doAppend][id]
	case hold:
		made = b.holds[id].committed > 0 || d[doCommit][id]
	case last:
		made = ended && id < 2
	}
	if !made {
		b.broke("entry %s: nobody was told that it is made", e.ID)
		return
	}
	want := b.entry(e.ID[0], id)
	if e.ID[0] == hold {
		want.Amount = -want.Amount
	}
	if e.Owner != want.Owner || e.Amount != want.Amount {
		b.broke("entry %s is %d of %s, want %d of %s", e.ID, e.Amount, e.Owner, want.Amount, want.Owner)
	}
}

// checkHeld checks that balances are the sums of the entries, that none is below
// zero, and that each reservation was asked for and not resolved.
func (b *books) checkHeld(s *state, d map[string]map[int]bool, ended bool, sums map[string]int64) {
	open := make(map[string]int64)
	listed := make(map[string]int64)
	for _, r := range s.Reservations {
		open[r.ID] += r.Amount
		listed[r.Owner] += r.Amount
	}
	least, most := make(map[string]int64), make(map[string]int64)
	for id, h := range b.holds {
		owner, amount := b.money(hold, id)
		name := ledgerID(hold, id)
		resolved := h.committed > 0 || h.released > 0 || ended && b.brief(id)
		switch {
		case !resolved && (h.reserved > 0 || d[doReserve][id]):
			most[owner] += amount
			if h.reserved > 0 && !b.brief(id) && !d[doCommit][id] && !d[doRelease][id] {
				least[owner] += amount
				if _, ok := open[name]; !ok && !s.ReservationsHidden {
					b.broke("reservation %s was confirmed and is not held", name)
				}
			}
		default:
			if _, ok := open[name]; ok {
				b.broke("reservation %s is held: %+v is what was said of it", name, h)
			}
		}
	}
	for _, owner := range []string{rich, poor} {
		has := s.Balances[owner]
		if has.Available < 0 || has.Reserved < 0 || has.Available+has.Reserved != sums[owner] {
			b.broke("%s has %d available and %d reserved, and the entries sum up to %d", owner, has.Available, has.Reserved, sums[owner])
		}
		if has.Reserved < least[owner] || has.Reserved > most[owner] || !s.ReservationsHidden && has.Reserved != listed[owner] {
			b.broke("%s has %d reserved, want %d to %d, and the reservations sum up to %d", owner, has.Reserved, least[owner], most[owner], listed[owner])
		}
	}
}
