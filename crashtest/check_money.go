package main

import "strings"

// entries checks that the ledger has exactly the charges and top-ups that it
// should, each once, that no balance was ever below zero, and that each balance is
// the sum of its entries (I5).
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
	for _, id := range c.State.Removed {
		if c.ownerOf(id) == rich && !there[chargeID(id)] {
			c.add("I5", "event %s, removed since, was not charged for", id)
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

// ownerOf returns the owner of an event that was removed, from the posts and the
// monitors that never change; "" for the event of another monitor.
func (c *checker) ownerOf(event string) string {
	if c.owners == nil {
		c.owners = make(map[string]string)
		for id, w := range c.Customers.Watches {
			if w.Fixed {
				for i := range c.Shown {
					c.owners[eventID(id, c.Shown[i].ID)] = w.Owner
				}
			}
		}
	}
	return c.owners[event]
}

// mayCharge checks that an entry charges for a recorded detection, or that a
// customer asked for it and was not refused.
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
	ef := c.Customers.Entries[e.ID]
	erased, gone := c.Customers.Gone[e.Owner]
	switch {
	case erased:
		c.add("I5", "entry %s of %s, who was erased", e.ID, e.Owner)
	case gone: // not yet
	case ef == nil:
		c.add("I5", "entry %s of %s: nobody asked for it", e.ID, e.Owner)
	case ef.Owner != e.Owner || ef.Amount != e.Amount:
		c.add("I5", "entry %s is %d of %s, want %d of %s", e.ID, e.Amount, e.Owner, ef.Amount, ef.Owner)
	case ef.Never:
		c.add("I5", "entry %s of %s over %d was refused, released or has expired, and is there", e.ID, e.Owner, e.Amount)
	}
}

// reservations checks that each reservation in the store was asked for, that each
// confirmed one is there, and that they sum up to what is reserved.
func (c *checker) reservations() {
	if c.State.ReservationsHidden {
		return
	}
	open := make(map[string]bool)
	sums := make(map[string]int64)
	for _, r := range c.State.Reservations {
		if open[r.ID] {
			c.add("I5", "reservation %s is there twice", r.ID)
		}
		open[r.ID] = true
		sums[r.Owner] += r.Amount
		rf := c.Customers.Reservations[r.ID]
		if rf == nil || rf.Owner != r.Owner || rf.Amount != r.Amount {
			c.add("I5", "reservation %s of %s over %d: nobody asked for it", r.ID, r.Owner, r.Amount)
		}
	}
	for id, rf := range c.Customers.Reservations {
		if rf.Held && rf.Expires.After(c.now) && !open[id] {
			c.add("I5", "reservation %s of %s over %d was confirmed and is not held", id, rf.Owner, rf.Amount)
		}
	}
	for _, owner := range []string{rich, poor} {
		if has := c.State.Balances[owner].Reserved; has != sums[owner] {
			c.add("I5", "%s has %d reserved, and the reservations sum up to %d", owner, has, sums[owner])
		}
	}
}

// nothingReserved checks that no expired reservation is left: a write to the
// ledger gives those back, and there was one after the last of them expired.
func (c *checker) nothingReserved() {
	for _, r := range c.State.Reservations {
		if !r.Expires.IsZero() && r.Expires.Before(c.Rested) {
			c.add("I5", "reservation %s of %s has expired at %s and is still held", r.ID, r.Owner, clock(r.Expires))
		}
	}
}
