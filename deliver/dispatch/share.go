package dispatch

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/breaker"
	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/health"
	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/lanestate"
	"github.com/streamwatch/streamwatch/fleet"
)

// share holds the parts of this dispatcher. The scheduler's mutex guards it.
type share struct {
	parts  *fleet.Set  // nil is all
	fresh  fleet.Set   // parts just taken: the outbox may hold older deliveries than the next commit brings
	since  int64       // the reader's round when parts were taken last
	giving []dueChange // deliveries of parts that were given up, not given back yet
	terms  int         // terms that were lost
	onHold bool        // no attempt begins
}

// set replaces the parts, and returns the new ones.
func (sh *share) set(parts fleet.Set, round int64) (taken fleet.Set) {
	if sh.parts != nil {
		taken = parts.Minus(*sh.parts)
	}
	sh.parts, sh.fresh = &parts, sh.fresh.And(parts).Plus(taken)
	if taken != (fleet.Set{}) {
		sh.since = round
	}
	return taken
}

// theirs returns the part of an endpoint, and reports whether it is another dispatcher's.
func (sh *share) theirs(endpointID string) (fleet.Part, bool) {
	if sh.parts == nil {
		return 0, false
	}
	p := fleet.PartOf(endpointID)
	return p, !sh.parts.Has(p)
}

// isFresh reports whether an endpoint's part was taken lately.
func (sh *share) isFresh(endpointID string) bool {
	return sh.fresh != fleet.Set{} && sh.fresh.Has(fleet.PartOf(endpointID))
}

// caughtUp notes that the reader has claimed all due deliveries in this round.
func (sh *share) caughtUp(round int64) {
	if sh.since < round {
		sh.fresh = fleet.Set{}
	}
}

// tell calls Config.Elsewhere with parts, unless there are none.
func (c *Config) tell(parts fleet.Set) {
	if c.Elsewhere != nil && parts != (fleet.Set{}) {
		c.Elsewhere(slices.Collect(parts.All()))
	}
}

// givenBack returns the change that gives a queued item back to the outbox, due at once. An
// item that was never tried gets its place among the deliveries its lane left there before.
func (it *item) givenBack(now time.Time) dueChange {
	due := now
	if it.Attempts == 0 && !it.replayed {
		due = dueOf(&it.Delivery, now)
	}
	return dueChange{it.ID, it.EndpointID, it.Due, due}
}

// leave gives a claimed delivery for a part of another dispatcher back to the outbox, due
// at once.
func (o *overflow) leave(dv *deliver.Delivery, now time.Time) {
	if len(o.spilled) < maxHeld {
		o.spilled = append(o.spilled, dueChange{dv.ID, dv.EndpointID, dv.Due, dueOf(dv, now)})
		o.alarm.WakeAt(now)
	}
}

// dueOf returns when a delivery was due first, at most now.
func dueOf(dv *deliver.Delivery, now time.Time) time.Time {
	if dv.CreatedAt.Before(now) {
		return dv.CreatedAt
	}
	return now
}

// busy reports whether an attempt or a read of the lane is under way.
func (l *lane) busy() bool { return l.queue.inFlight > 0 || l.state.Record.Reading() }

// forget marks a lane as another dispatcher's, and sets it up anew except for its attempts
// and its read under way.
func (l *lane) forget(inFlight int) {
	var state lanestate.State
	if l.state.Record.Reading() {
		state.Record = lanestate.RecordOutdated
	}
	l.given, l.state, l.record = true, state, laneRecord{}
	l.queue.full, l.queue.behind = false, 0
	l.inFlightLimit, l.limiter = inFlight, nil
	l.breaker, l.health = breaker.Breaker{}, health.Health{}
}
