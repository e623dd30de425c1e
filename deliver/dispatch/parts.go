package dispatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/fleet"
)

// SetParts restricts the dispatcher to the endpoints of some parts, by fleet.PartOf of their ids.
// Other dispatchers that share the outbox send to the rest. Before the first call the dispatcher
// sends to all endpoints.
//
// If the dispatcher had other parts, no attempt to their endpoints begins from now on. It forgets
// the state of their lanes. Their queues go back to the outbox in the same order, due now. SetParts
// returns when that is stored. After an error they can be claimed when their claims expire.
// Attempts under way finish and are recorded; the endpoint's InFlight limit does not count them.
//
// Enqueue queues only deliveries for these parts and for in-process handlers; every dispatcher has
// the handlers. If a handler's delivery goes to the outbox, the dispatcher with the part of the
// handler's id sends it.
func (d *Dispatcher) SetParts(ctx context.Context, parts fleet.Set) error {
	taken := d.sched.setParts(parts)
	if _, err := changeDue(ctx, d.cfg, d.sched.takeSpilled(), d.cfg.Now()); err != nil {
		return fmt.Errorf("dispatch: cannot give deliveries back; they are sent when their claims expire: %w", err)
	}
	if taken {
		d.Wake()
	}
	return nil
}

// Lose removes all parts from a dispatcher that has lost them to others. It forgets all queued
// deliveries, including those of handlers, and gives none back, since others may have claimed
// them. The claims expire. Attempts under way finish and are recorded. Lose does not wait.
func (d *Dispatcher) Lose() { d.sched.loseParts() }

// Hold, called with true, stops new attempts until it is called with false. Use it while the
// dispatcher does not know whether it still has its parts, since another may send to them. Attempts
// under way finish. Queued deliveries keep their order and their claims.
func (d *Dispatcher) Hold(on bool) { d.sched.setHold(on) }

// Wake makes the dispatcher read the outbox now. Call it when another dispatcher says that a
// delivery is due: see Config.Elsewhere. Wake does not wait. All calls during one read cause one
// more read. Without Wake a dispatcher with parts reads once a second.
func (d *Dispatcher) Wake() {
	d.reader.alarm.wakeAt(d.cfg.Now())
	d.replayer.ask()
}
