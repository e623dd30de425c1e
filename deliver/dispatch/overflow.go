package dispatch

import "time"

// overflow holds the deliveries that lanes leave to the outbox, and the lanes that take
// nothing from it now. The scheduler's mutex guards it.
type overflow struct {
	alarm   *alarm
	blocked map[*lane]struct{} // full or parked: nothing is claimed for them
	behind  map[*lane]struct{} // overflowed, and not caught up since
	round   int64              // looks of the reader, from 1
	spilled []dueChange        // deliveries to give back at the next look
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

// add leaves a claimed delivery to the outbox. It is due at once, in its place: see
// givenBack; if the lane is parked and its endpoint not paused, when the wait ends. Newer
// deliveries of the lane go there, too, until it has caught up. The reader ends the claim: the
// delivery can be claimed as soon as its lane has room. Beyond maxHeld deliveries the claims
// expire.
func (o *overflow) add(it *item, now time.Time) {
	l, c := it.lane, it.givenBack(now)
	if l.gated == gateParked && l.record.endpoint.PausedSince.IsZero() {
		c.due = now.Add(max(0, time.Until(l.until)))
	}
	o.follow(l, o.round)
	if len(o.spilled) < maxHeld {
		o.spilled = append(o.spilled, c)
		o.alarm.wakeAt(now)
		return
	}
	o.alarm.wakeAt(it.Due)
}

// follow makes a lane take the deliveries in the outbox before new ones.
func (o *overflow) follow(l *lane, round int64) {
	l.queue.behind = round
	o.behind[l] = struct{}{}
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

// caughtUp lets new deliveries into lanes that overflowed before this round and were not
// skipped: the reader has claimed all that was due for them.
func (o *overflow) caughtUp(round int64, skipped map[string]bool) {
	for l := range o.behind {
		if l.queue.behind < round && !skipped[l.id] && !l.parked() {
			l.queue.behind = 0
			delete(o.behind, l)
		}
	}
}
