package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/lanestate"
	"github.com/streamwatch/streamwatch/fleet"
)

// claims is what the reader of the outbox asks of the scheduler. Its methods take the
// scheduler's mutex.
type claims struct{ s *scheduler }

// claimable says how much the reader may claim.
type claimable struct {
	limit    int           // deliveries
	skip     []string      // endpoints whose lanes take none
	again    time.Duration // when to look again if all that is due is theirs
	emptying bool          // one of them will have room soon
}

// allowed returns how much may be claimed. A lane that was found full is left alone
// until it has emptied to the half, one that waits for long until it has waited.
func (c claims) allowed() claimable {
	may := claimable{again: blockedWait}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	now := time.Now()
	for l := range c.s.overflow.blocked {
		gate := l.gate(now)
		if l.queue.full && c.s.halfEmpty(l) {
			l.queue.full = false
		}
		switch {
		case gate == lanestate.GateParked:
			may.again = min(may.again, l.until.Sub(now))
		case l.queue.full:
			may.emptying = may.emptying || !l.state.Pace.Hung() && l.limiter == nil && gate == lanestate.GateOpen
		default:
			delete(c.s.overflow.blocked, l)
			continue
		}
		may.skip = append(may.skip, l.id)
	}
	may.limit = min(claimLimit, max(1, c.s.cfg.LaneQueue/2), maxHeld-len(c.s.held))
	return may
}

// round is a look of the reader.
type round struct {
	n       int64
	spilled []dueChange // what has overflowed
	parts   *fleet.Set  // whose deliveries may be claimed; nil is all
	term    int
}

// beginRound counts a look of the reader.
func (c claims) beginRound() round {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.overflow.round++
	sh := &c.s.share
	return round{c.s.overflow.round, c.s.overflow.take(), sh.parts, sh.terms}
}

// spillAgain keeps what could not be given back for the next look, unless the term was
// lost.
func (c claims) spillAgain(list []dueChange, term int) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if term == c.s.share.terms {
		o := &c.s.overflow
		o.spilled = append(list, o.spilled...)
		o.spilled = o.spilled[:min(len(o.spilled), maxSpilled)]
	}
}

// caughtUp tells that all that was due in this round has been claimed, except for the
// endpoints that were skipped.
func (c claims) caughtUp(round int64, skipped []string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.overflow.caughtUp(round, skipped)
	c.s.share.caughtUp(round)
}

// holdsAny reports whether there are deliveries in memory.
func (c claims) holdsAny() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return len(c.s.held) > 0
}

// expiring returns the queued deliveries whose claims end before soon, with due as
// their new end.
func (c claims) expiring(soon, due time.Time) []dueChange {
	var list []dueChange
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, l := range c.s.lanes {
		for _, queue := range [][]*item{l.queue.items, l.queue.replays} {
			for _, it := range queue {
				if it.Due.Before(soon) {
					list = append(list, dueChange{it.ID, it.EndpointID, it.Due, due})
				}
			}
		}
	}
	return list
}

// renewed takes over the claims that were prolonged.
func (c claims) renewed(list []dueChange, now time.Time) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, ch := range list {
		if it, ok := c.s.held[ch.id]; ok && it.Due.Equal(ch.claimed) && c.s.cfg.leaseCovers(ch.claimed, now) {
			it.Due = ch.due
		}
	}
}

// giveBack forgets all that is held, and returns it as due now.
func (c claims) giveBack(now time.Time) []dueChange {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	list := append(c.s.overflow.take(), c.s.share.giving...)
	for _, it := range c.s.held {
		if !it.lost {
			list = append(list, it.givenBack(now))
		}
	}
	clear(c.s.held)
	return list
}
