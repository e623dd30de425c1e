package shards

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
)

// ticket is one call taken from the budget. It is the shard's place in the queue for calls. The
// shard takes it before it knows which target to poll.
type ticket struct {
	budget  *budget.Budget
	taken   bool
	at      int64  // when the call may be made, on the detector's clock
	changes uint64 // Budget.Changes when the ticket was taken
}

// wait returns how long the next call must wait for the budget.
func (t *ticket) wait(now int64) time.Duration {
	b := t.budget
	if closed := b.Closed(now); closed > 0 {
		// Drop the ticket: with a new one, calls keep to the rate when the gate opens.
		t.taken = false
		return min(closed, budget.AskAgain)
	}
	if !b.Bounded() {
		return 0
	}
	if t.changes != b.Changes() {
		t.giveBack()
	}
	if !t.taken && b.Reading() {
		return time.Duration(longSleep - now) // the shard is woken when the last wait for a further page ends
	}
	if !t.taken {
		t.changes = b.Changes()
		t.at, t.taken = b.Ticket(now), true
	}
	return time.Duration(t.at - now)
}

// used records that the call is made.
func (t *ticket) used() { t.taken = false }

// giveBack gives back a ticket that is not needed now. A ticket kept until the bucket is full again
// would be one call too many.
func (t *ticket) giveBack() {
	if t.taken {
		t.budget.GiveBack(t.at, t.changes)
		t.taken = false
	}
}
