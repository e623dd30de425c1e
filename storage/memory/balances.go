package memory

import (
	"container/heap"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// balances holds what owners have, the entries that made it, and the open
// reservations. It does no locking.
type balances struct {
	maxEntries int
	owners     map[string]*account
	entries    []*billing.Entry // retained, of all owners, oldest first
	ids        recent[struct{}] // of entries, retained and removed
	totals     map[billing.Source]billing.Credits
	holds      map[string]*hold // open reservations
	expiring   minHeap[*hold]   // those of holds that expire
	resolved   recent[outcome]
}

// account is what an owner has.
type account struct {
	available, reserved billing.Credits
	entries             []*billing.Entry // retained, oldest first
	removed             uint64           // entries before these
}

// hold is an open reservation.
type hold struct {
	billing.Reservation
	index int // in balances.expiring, -1 when it does not expire
}

func (h *hold) before(o *hold) bool { return h.ExpiresAt.Before(o.ExpiresAt) }
func (h *hold) place() *int         { return &h.index }

// outcome is how a reservation was resolved.
type outcome uint8

const (
	committed outcome = iota + 1
	givenBack         // released or expired
)

func newBalances(opts Options) balances {
	return balances{
		maxEntries: opts.MaxEntries,
		owners:     make(map[string]*account),
		// Retained entries are the newest, so this always knows all of them.
		ids:      newRecent[struct{}](opts.MaxEntries + opts.MaxEventIDs),
		totals:   make(map[billing.Source]billing.Credits),
		holds:    make(map[string]*hold),
		resolved: newRecent[outcome](opts.MaxEventIDs),
	}
}

// account gives the owner's account, made when there is none.
func (b *balances) account(owner string) *account {
	a := b.owners[owner]
	if a == nil {
		a = new(account)
		b.owners[owner] = a
	}
	return a
}

// peek gives the owner's account to read: a question about an unknown owner must not
// cost memory.
func (b *balances) peek(owner string) *account {
	if a := b.owners[owner]; a != nil {
		return a
	}
	return new(account)
}

// reserve opens a reservation that the available balance covers.
func (b *balances) reserve(r billing.Reservation) {
	a := b.account(r.Owner)
	a.available -= r.Amount
	a.reserved += r.Amount
	h := &hold{Reservation: r, index: -1}
	b.holds[r.ID] = h
	if !r.ExpiresAt.IsZero() {
		heap.Push(&b.expiring, h)
	}
}

// expire gives back the reservations whose time has come.
func (b *balances) expire(now time.Time) {
	for len(b.expiring) > 0 && !b.expiring[0].ExpiresAt.After(now) {
		b.resolve(b.expiring[0], givenBack)
	}
}

// resolve ends an open reservation and makes its amount available.
func (b *balances) resolve(h *hold, as outcome) {
	a := b.account(h.Owner)
	a.reserved -= h.Amount
	a.available += h.Amount
	delete(b.holds, h.ID)
	if h.index >= 0 {
		heap.Remove(&b.expiring, h.index)
	}
	b.resolved.put(keyOf(h.ID), as)
}

// resolvedAs answers a repeated resolution: nil when it was the same.
func (b *balances) resolvedAs(id string, as outcome) error {
	switch b.resolved.values[keyOf(id)] {
	case as:
		return nil
	case 0:
		return billing.ErrNotFound
	}
	return billing.ErrResolved
}

// post makes one entry, unless its id is known or its amount is refused, and
// removes the oldest entries beyond the maximum.
func (b *balances) post(e billing.Entry) error {
	k := keyOf(e.ID)
	if b.ids.has(k) {
		return nil
	}
	a := b.account(e.Owner)
	if err := a.add(e.Amount); err != nil {
		return err
	}
	e.Balance = a.available + a.reserved
	if src, ok := e.Source(); ok {
		b.totals[src] = billing.AddTotal(b.totals[src], e.Amount)
	}
	b.ids.put(k, struct{}{})
	b.entries = append(b.entries, &e)
	a.entries = append(a.entries, &e)
	for len(b.entries) > b.maxEntries {
		// The oldest of all is also the oldest of its owner.
		oldest := popFront(&b.entries)
		of := b.account(oldest.Owner)
		popFront(&of.entries)
		of.removed++
	}
	return nil
}

// add changes what is available, or says why not.
func (a *account) add(amount billing.Credits) error {
	if amount < 0 && a.available+amount < 0 {
		return billing.ErrInsufficient
	}
	if amount > 0 && amount > math.MaxInt64-a.available-a.reserved {
		return billing.ErrAmount
	}
	a.available += amount
	return nil
}
