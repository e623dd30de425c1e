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

// share is which lanes are this dispatcher's. The scheduler's mutex guards it.
type share struct {
	parts  *fleet.Set  // nil is all
	fresh  fleet.Set   // of them, those for which the outbox may have what is older than a commit
	since  int64       // the reader's round when parts were taken last
	giving []dueChange // what was queued for parts that were given up, until that is stored
	terms  int         // counts those that were lost
	onHold bool        // no attempt begins
}

// set makes parts the share, and returns those that are new.
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

// theirs returns the part of an endpoint if it is another dispatcher's.
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

// caughtUp tells that the reader has claimed in this round all that was due.
func (sh *share) caughtUp(round int64) {
	if sh.since < round {
		sh.fresh = fleet.Set{}
	}
}

// tell tells Config.Elsewhere of parts.
func (c *Config) tell(parts fleet.Set) {
	if c.Elsewhere != nil && parts != (fleet.Set{}) {
		c.Elsewhere(slices.Collect(parts.All()))
	}
}

// givenBack returns a queued item as it goes back to the outbox, due at once. One that
// was never tried gets its place among what its lane left there before.
func (it *item) givenBack(now time.Time) dueChange {
	due := now
	if it.Attempts == 0 && !it.replayed {
		due = dueOf(&it.Delivery, now)
	}
	return dueChange{it.ID, it.EndpointID, it.Due, due}
}

// leave leaves a claimed delivery of another dispatcher's lane to the outbox, due at
// once.
func (o *overflow) leave(dv *deliver.Delivery, now time.Time) {
	if len(o.spilled) < maxHeld {
		o.spilled = append(o.spilled, dueChange{dv.ID, dv.EndpointID, dv.Due, dueOf(dv, now)})
		o.alarm.WakeAt(now)
	}
}

// dueOf is when a delivery was due first, or now.
func dueOf(dv *deliver.Delivery, now time.Time) time.Time {
	if dv.CreatedAt.Before(now) {
		return dv.CreatedAt
	}
	return now
}

// busy reports whether something of the lane is under way.
func (l *lane) busy() bool { return l.queue.inFlight > 0 || l.state.Record.Reading() }

// forget makes a lane another dispatcher's: as new, but for what is under way.
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
