package dispatch

import "time"

// overflow has the deliveries that lanes leave to the outbox, and the lanes for which nothing is
// claimed now. The scheduler's mutex guards it.
type overflow struct {
	alarm   *alarm
	blocked map[*lane]struct{} // full or parked: nothing is claimed for them
	behind  map[*lane]struct{} // overflowed; the outbox may have more for them
	round   int64              // the reader's reads of the outbox, from 1
	spilled []dueChange        // deliveries to give back at the next read
}

// dueChange is a change of a delivery's Due.
type dueChange struct {
	id      string
	claimed time.Time // end of this dispatcher's claim
	due     time.Time
}

func newOverflow(a *alarm) overflow {
	return overflow{alarm: a, blocked: map[*lane]struct{}{}, behind: map[*lane]struct{}{}, round: 1}
}

func (o *overflow) setFull(l *lane) {
	l.queue.full = true
	o.blocked[l] = struct{}{}
}

// add leaves a claimed delivery to the outbox. The reader gives the claim back, so the delivery can
// be claimed when its lane has room. It is due now: see givenBack. If the lane is parked and its
// endpoint is not paused, it is due when the wait ends. Newer deliveries of the lane also go to the
// outbox until the lane has caught up. If maxHeld deliveries are to be given back already, the
// claim is left to expire.
func (o *overflow) add(it *item, now time.Time) {
	l, c := it.lane, it.givenBack(now)
	if l.gated == gateParked && l.record.endpoint.PausedSince.IsZero() {
		c.due = now.Add(max(0, time.Until(l.until)))
	}
	l.queue.behind = o.round
	o.behind[l] = struct{}{}
	o.giveBack(c, now)
}

// giveBack has the reader give a claim back, unless it has maxHeld to give back already.
func (o *overflow) giveBack(c dueChange, now time.Time) {
	if len(o.spilled) < maxHeld {
		o.spilled = append(o.spilled, c)
		o.alarm.wakeAt(now)
	}
}

// forget removes a lane.
func (o *overflow) forget(l *lane) {
	delete(o.blocked, l)
	delete(o.behind, l)
}

// take returns the deliveries to give back, and forgets them.
func (o *overflow) take() []dueChange {
	list := o.spilled
	o.spilled = nil
	return list
}

// caughtUp lets new deliveries into lanes that overflowed before this round and were not skipped.
// The reader has claimed all due deliveries of these lanes.
func (o *overflow) caughtUp(round int64, skipped map[string]bool) {
	for l := range o.behind {
		if l.queue.behind < round && !skipped[l.id] && !l.parked() {
			l.queue.behind = 0
			delete(o.behind, l)
		}
	}
}
