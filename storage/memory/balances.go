package memory

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// balances has all owners' accounts, the ledger's entries, and the open reservations. Its callers
// must have locked the store.
type balances struct {
	maxEntries int
	owners     map[string]*account
	entries    []*billing.Entry // retained, of all owners, oldest first
	ids        recent[struct{}] // ids of all retained entries and of recently removed ones
	totals     map[billing.Source]billing.Credits
	holds      map[string]billing.Reservation // open reservations
	resolved   recent[outcome]
}

// account is the balance of an owner.
type account struct {
	available, reserved billing.Credits
	entries             []*billing.Entry // retained, oldest first
	removed             uint64           // how many older entries were removed
}

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
		// Large enough to never forget the id of a retained entry.
		ids:      newRecent[struct{}](opts.MaxEntries + opts.MaxEventIDs),
		totals:   make(map[billing.Source]billing.Credits),
		holds:    make(map[string]billing.Reservation),
		resolved: newRecent[outcome](opts.MaxEventIDs),
	}
}

// account returns the owner's account, and creates it if there is none.
func (b *balances) account(owner string) *account {
	a := b.owners[owner]
	if a == nil {
		a = new(account)
		b.owners[owner] = a
	}
	return a
}

// peek returns the owner's account for reading, or an empty one if there is none. It does not
// create the account: reading the balances of unknown owners takes no memory.
func (b *balances) peek(owner string) *account {
	if a := b.owners[owner]; a != nil {
		return a
	}
	return new(account)
}

// reserve opens a reservation. The caller must have checked that the balance covers it.
func (b *balances) reserve(r billing.Reservation) {
	a := b.account(r.Owner)
	a.available -= r.Amount
	a.reserved += r.Amount
	b.holds[r.ID] = r
}

// expire releases the reservations that have expired at now.
func (b *balances) expire(now time.Time) {
	for _, h := range b.holds {
		if !h.ExpiresAt.IsZero() && !h.ExpiresAt.After(now) {
			b.resolve(h, givenBack)
		}
	}
}

// resolve ends an open reservation and returns its amount to the available balance.
func (b *balances) resolve(h billing.Reservation, as outcome) {
	a := b.account(h.Owner)
	a.reserved -= h.Amount
	a.available += h.Amount
	delete(b.holds, h.ID)
	b.resolved.put(keyOf(h.ID), as)
}

// resolvedAs returns the result of a Commit or Release of a reservation that is not open. It is nil
// if the reservation was resolved in the same way before, otherwise an error.
func (b *balances) resolvedAs(id string, as outcome) error {
	switch b.resolved.values[keyOf(id)] {
	case as:
		return nil
	case 0:
		return billing.ErrNotFound
	}
	return billing.ErrResolved
}

// post adds an entry unless its id is known, then removes the oldest entries above the maximum. It
// returns an error if the amount is refused.
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
		// The oldest entry of all owners is also the first in its owner's list.
		oldest := popFront(&b.entries)
		of := b.account(oldest.Owner)
		popFront(&of.entries)
		of.removed++
	}
	return nil
}

// add adds amount, which may be negative, to the available balance.
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
