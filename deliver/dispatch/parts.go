package dispatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/turnstile"
	"github.com/streamwatch/streamwatch/fleet"
)

// SetParts restricts the dispatcher to the endpoints of some parts, by fleet.PartOf of
// their ids; other dispatchers that share the outbox send to the rest. Without a call it
// sends to all endpoints.
//
// In lanes of parts that the dispatcher had and that are not in parts, no attempt begins
// from now on. Their queues go back to the outbox, due at once and in the same order, and
// the lanes forget what they have learned of their receivers. SetParts returns when that is
// stored, or when ctx ends: before that the parts must not be given to another dispatcher.
// After an error another call stores the rest. Attempts under way finish, and are
// recorded. Until they end, the receiver may get up to twice its InFlight limit.
//
// For new parts the dispatcher reads the outbox, and sends the deliveries there before
// those that are committed from now on.
//
// Enqueue queues only deliveries for these parts and for in-process handlers, which every
// dispatcher has. A handler's deliveries that go to the outbox are sent by the dispatcher
// that has the part of the handler's id.
func (d *Dispatcher) SetParts(ctx context.Context, parts fleet.Set) error {
	taken := d.moves.set(parts) != fleet.Set{}
	d.health.Keep(d.moves.has)
	// A claim or a step of a replay that began with the previous parts ends first.
	for _, t := range []turnstile.Turnstile{d.reader.looking, d.replayer.steps} {
		if err := t.Enter(ctx); err != nil {
			return fmt.Errorf("dispatch: give deliveries back: %w", err)
		}
		defer t.Leave()
	}
	d.replayer.keep(taken)
	list, term := d.moves.toGive()
	if rest, err := changeDue(ctx, d.cfg, list, d.cfg.Now()); err != nil {
		d.moves.giveLater(rest, term)
		return fmt.Errorf("dispatch: give deliveries back: %w", err)
	}
	if taken {
		d.reader.alarm.WakeAt(d.cfg.Now())
	}
	return nil
}

// Lose is SetParts with no parts, for a dispatcher that has lost its parts to others, which
// may have claimed its deliveries by now: it forgets all queued deliveries, also those of
// handlers, and gives none back. The claims expire. Attempts under way finish, and are
// recorded. Lose does not wait.
func (d *Dispatcher) Lose() {
	d.moves.lose()
	d.health.Keep(d.moves.has)
	d.replayer.keep(false)
}

// Hold stops the beginning of attempts until it is called with false: a dispatcher that does
// not know whether it still has its parts must not send beside another one. Attempts under
// way finish. Queued deliveries stay, in their order, and so do their claims.
func (d *Dispatcher) Hold(on bool) { d.moves.hold(on) }

// Wake makes the dispatcher read the outbox now, because another dispatcher says that a
// delivery is due: see Config.Elsewhere. It does not wait; all calls during one read cause
// one more. Without it a dispatcher with parts reads once a second.
func (d *Dispatcher) Wake() {
	d.reader.alarm.WakeAt(d.cfg.Now())
	d.replayer.hint()
}
