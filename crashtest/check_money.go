package main

import "strings"

// entries checks the ledger (I5): it has each charge and top-up that it must have exactly once, and
// no other. No balance was ever below zero, and each balance is the sum of its entries.
func (c *checker) entries() {
	there := make(map[string]bool)
	sums := make(map[string]int64)
	for _, e := range c.State.Entries {
		if there[e.ID] {
			c.add("I5", "entry %s of %s is there twice", e.ID, e.Owner)
		}
		there[e.ID] = true
		c.mayCharge(e)
		sums[e.Owner] += e.Amount
		if e.Balance < 0 {
			c.add("I5", "entry %s left %s a balance of %d", e.ID, e.Owner, e.Balance)
		}
		if e.Balance != sums[e.Owner] {
			c.add("I5", "entry %s left %s a balance of %d, and the entries until then sum up to %d", e.ID, e.Owner, e.Balance, sums[e.Owner])
		}
	}
	for id, ef := range c.Customers.Entries {
		if ef.Must && !there[id] {
			c.add("I5", "entry %s of %s over %d was confirmed and is not there", id, ef.Owner, ef.Amount)
		}
	}
	// The owner with plenty of credits pays for each detection.
	for i := range c.State.Events {
		if e := &c.State.Events[i]; e.Owner == rich && !there[chargeID(e.ID)] {
			c.add("I5", "event %s of %s was not charged for", e.ID, e.Owner)
		}
	}
	for _, owner := range []string{rich, poor} {
		b := c.State.Balances[owner]
		if b.Available < 0 || b.Reserved < 0 {
			c.add("I5", "%s has %d available and %d reserved", owner, b.Available, b.Reserved)
		}
		if b.Available+b.Reserved != sums[owner] {
			c.add("I5", "%s has %d available and %d reserved, and the entries sum up to %d", owner, b.Available, b.Reserved, sums[owner])
		}
	}
}

// mayCharge checks that an entry either charges for a recorded detection, or was requested by a
// customer and not refused.
func (c *checker) mayCharge(e entry) {
	if event, ok := strings.CutPrefix(e.ID, chargeID("")); ok {
		if !c.known(event) {
			c.add("I5", "entry %s charges for event %s, which is not recorded", e.ID, event)
		}
		if ev := c.events[event]; e.Amount != -detectionPrice || ev != nil && ev.Owner != e.Owner {
			c.add("I5", "entry %s over %d is %s's: want %d for the event's owner", e.ID, e.Amount, e.Owner, -detectionPrice)
		}
		return
	}
	switch ef := c.Customers.Entries[e.ID]; {
	case ef == nil:
		c.add("I5", "entry %s of %s: nobody asked for it", e.ID, e.Owner)
	case ef.Owner != e.Owner || ef.Amount != e.Amount:
		c.add("I5", "entry %s is %d of %s, want %d of %s", e.ID, e.Amount, e.Owner, ef.Amount, ef.Owner)
	case ef.Never:
		c.add("I5", "entry %s of %s over %d was refused, released or has expired, and is there", e.ID, e.Owner, e.Amount)
	}
}
