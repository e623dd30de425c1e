package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// ledgerPlan is a run of random operations on a ledger. The number of an operation
// decides what it is, so that the process under test and the books of its parent
// agree without telling each other.
type ledgerPlan struct {
	Seed    uint64
	Ops     int // numbered from 0
	Workers int // each does every Workers-th operation, one after the other
}

// Ids repeat within a block of operations, so that workers meet at each of them: an
// id has on average one top-up, two charges, two tries to reserve, two to commit
// and one to release.
const (
	blockOps = 2048
	blockIDs = 256
)

// Letters that ids begin with. Charge n and alsoCharge n are made in one call.
const (
	topUp      = 't'
	charge     = 'c'
	alsoCharge = 'd'
	hold       = 'r'
	last       = 'z' // the entry of each owner that ends a run
)

func ledgerID(letter byte, n int) string { return fmt.Sprintf("%c%d", letter, n) }

// briefly is how long a brief reservation lasts.
const briefly = 20 * time.Millisecond

// ids is how many ids of each letter a run can have.
func (p ledgerPlan) ids() int { return (p.Ops + blockOps - 1) / blockOps * blockIDs }

// chance decides what operation n does, and to which id.
func (p ledgerPlan) chance(n int) (do string, id int) {
	r := rand.New(rand.NewPCG(p.Seed, uint64(n)))
	id = n/blockOps*blockIDs + r.IntN(blockIDs)
	switch r.IntN(8) {
	case 0:
		return doTopUp, id
	case 1, 2:
		return doAppend, id
	case 3, 4:
		return doReserve, id
	case 5, 6:
		return doCommit, id
	}
	return doRelease, id
}

// doTopUp is doAppend of a top-up.
const doTopUp = "top up"

// money is the owner and the amount of an id: bob's credits run out all the time,
// ada's now and then.
func (p ledgerPlan) money(letter byte, id int) (owner string, amount int64) {
	r := rand.New(rand.NewPCG(p.Seed+uint64(letter)<<32, uint64(id)))
	owner, most := rich, int64(1400)
	if r.IntN(2) == 0 {
		owner, most = poor, 300
	}
	switch letter {
	case topUp:
		return owner, r.Int64N(most)
	case charge:
		return owner, -r.Int64N(400)
	case alsoCharge:
		return owner, -r.Int64N(200)
	case last:
		return []string{rich, poor}[id], 1
	}
	return owner, r.Int64N(800)
}

// brief says whether a reservation expires, soon. The others never do.
func (p ledgerPlan) brief(id int) bool {
	return rand.New(rand.NewPCG(p.Seed+1, uint64(id))).IntN(8) == 0
}

// op is operation n as the process is asked to do it.
func (p ledgerPlan) op(n int) op {
	do, id := p.chance(n)
	o := op{N: n, Do: do, ID: ledgerID(hold, id)}
	switch do {
	case doTopUp:
		o.Do, o.Entries = doAppend, []entry{p.entry(topUp, id)}
	case doAppend:
		o.Entries = []entry{p.entry(charge, id), p.entry(alsoCharge, id)}
	case doReserve:
		o.Owner, o.Amount = p.money(hold, id)
		if p.brief(id) {
			o.Expires = time.Now().Add(briefly)
		}
	}
	return o
}

func (p ledgerPlan) entry(letter byte, id int) entry {
	owner, amount := p.money(letter, id)
	return entry{ID: ledgerID(letter, id), Owner: owner, Amount: amount}
}
