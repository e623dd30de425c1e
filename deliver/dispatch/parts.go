package dispatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/fleet"
)

// SetParts restricts the dispatcher to the endpoints of some parts, by fleet.PartOf of
// their ids; other dispatchers that share the outbox send to the rest. Without a call it
// sends to all endpoints.
//
// In lanes of parts that the dispatcher had and that are not in parts, no attempt begins
// from now on. Their queues go back to the outbox, due at once and in the same order, and
// the lanes forget what they have learned of their receivers. SetParts returns when that is
// stored. After an error the deliveries are claimable when their claims expire. Attempts
// under way finish, and are recorded; the endpoint's InFlight limit does not count them.
//
// Enqueue queues only deliveries for these parts and for in-process handlers, which every
// dispatcher has. A handler's deliveries that go to the outbox are sent by the dispatcher
// that has the part of the handler's id.
func (d *Dispatcher) SetParts(ctx context.Context, parts fleet.Set) error {
	taken := d.sched.setParts(parts)
	if _, err := changeDue(ctx, d.cfg, d.sched.takeSpilled(), d.cfg.Now()); err != nil {
		return fmt.Errorf("dispatch: cannot give deliveries back, which are sent when their claims expire: %w", err)
	}
	if taken {
		d.Wake()
	}
	return nil
}

// Lose is SetParts with no parts, for a dispatcher that has lost its parts to others, which
// may have claimed its deliveries by now: it forgets all queued deliveries, also those of
// handlers, and gives none back. The claims expire. Attempts under way finish, and are
// recorded. Lose does not wait.
func (d *Dispatcher) Lose() { d.sched.loseParts() }

// Hold stops the beginning of attempts until it is called with false: a dispatcher that does
// not know whether it still has its parts must not send while another one may. Attempts under
// way finish. Queued deliveries stay, in their order, and so do their claims.
func (d *Dispatcher) Hold(on bool) { d.sched.setHold(on) }

// Wake makes the dispatcher read the outbox now, because another dispatcher says that a
// delivery is due: see Config.Elsewhere. It does not wait; all calls during one read cause
// one more. Without it a dispatcher with parts reads once a second.
func (d *Dispatcher) Wake() {
	d.reader.alarm.wakeAt(d.cfg.Now())
	d.replayer.ask()
}
