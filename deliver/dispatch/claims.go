package dispatch

import (
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/lanestate"
	"github.com/streamwatch/streamwatch/fleet"
)

// claims are the scheduler's methods for the reader of the outbox. They take the
// scheduler's mutex.
type claims struct{ s *scheduler }

// claimable says how much the reader may claim.
type claimable struct {
	limit    int           // deliveries
	skip     []string      // endpoints whose lanes take no deliveries
	again    time.Duration // when to look again if every due delivery is for a skipped endpoint
	emptying bool          // a skipped lane will soon have room
}

// allowed returns how much the next claim may take, and begins it if that is not nothing. A
// lane found full is skipped until its queue is half empty, a parked one until its wait ends.
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
	if may.limit > 0 {
		c.s.outdated.Begin()
	}
	return may
}

// round is one look of the reader at the outbox.
type round struct {
	n       int64
	spilled []dueChange // deliveries to give back
	parts   *fleet.Set  // that may be claimed; nil is all
	term    int
}

// beginRound begins a look of the reader.
func (c claims) beginRound() round {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.overflow.round++
	return round{c.s.overflow.round, c.s.overflow.take(), c.s.share.parts, c.s.share.terms}
}

// spillAgain keeps deliveries that could not be given back for the next look, unless the
// term was lost.
func (c claims) spillAgain(list []dueChange, term int) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if term == c.s.share.terms {
		o := &c.s.overflow
		o.spilled = append(list, o.spilled...)
		o.spilled = o.spilled[:min(len(o.spilled), maxSpilled)]
	}
}

// caughtUp notes that all deliveries due in this round have been claimed, except those for
// skipped endpoints.
func (c claims) caughtUp(round int64, skipped []string) {
	left := make(map[string]bool, len(skipped))
	for _, id := range skipped {
		left[id] = true
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.overflow.caughtUp(round, left)
	c.s.share.caughtUp(round)
}

// holdsAny reports whether there are deliveries in memory.
func (c claims) holdsAny() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return len(c.s.held) > 0
}

// atOnce is about how many queued deliveries are looked at under the mutex in one go.
const atOnce = 2048

// lanes returns all lanes.
func (c claims) lanes() []*lane {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return slices.AppendSeq(make([]*lane, 0, len(c.s.lanes)), maps.Values(c.s.lanes))
}

// expiring returns the queued deliveries of the first lanes whose claims end in half a lease,
// as changes to end in a whole one, and the rest of the lanes.
func (c claims) expiring(lanes []*lane, now time.Time) (list []dueChange, rest []*lane) {
	soon, due := now.Add(c.s.cfg.Lease/2), now.Add(c.s.cfg.Lease)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for looked := 0; len(lanes) > 0 && looked < atOnce; lanes = lanes[1:] {
		q := &lanes[0].queue // empty if the lane is gone
		for _, queue := range [2][]*item{q.items, q.replays} {
			for _, it := range queue {
				if it.Due.Before(soon) {
					list = append(list, dueChange{it.ID, it.EndpointID, it.Due, due})
				}
			}
		}
		looked += 1 + q.waiting()
	}
	return list, lanes
}

// renewed notes that the claims in list were renewed.
func (c claims) renewed(list []dueChange, now time.Time) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, ch := range list {
		if it, ok := c.s.held[ch.id]; ok && it.Due.Equal(ch.claimed) && c.s.cfg.leaseCovers(ch.claimed, now) {
			it.Due = ch.due
		}
	}
}

// giveBack forgets all deliveries in memory, and returns them as due now.
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
