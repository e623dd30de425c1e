package dispatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/turnstile"
	"github.com/streamwatch/streamwatch/fleet"
)

// SetParts has the dispatcher send to the endpoints of some parts alone, by fleet.PartOf of
// their ids, while others that share the outbox send to the rest. Without a call it sends
// to all.
//
// In lanes of parts that it had and that are not among these no attempt begins any more
// from now on. What is queued there goes back to the outbox, due at once and in the order
// that it had; what the lanes have learned of their receivers is forgotten. SetParts
// returns when that is stored, before which the parts must not be given to anybody, or
// when ctx ends; after an error another call stores the rest. Attempts under way finish,
// and are recorded: until then a receiver may have as many more from whoever gets the
// part.
//
// For parts that are new the outbox is looked at, and what it has comes before what is
// committed from now on.
//
// Enqueue queues only what is for these parts, and what is for in-process handlers, which
// are every dispatcher's own. What a handler's lane has to leave to the outbox is sent by
// whoever has the part of its id.
func (d *Dispatcher) SetParts(ctx context.Context, parts fleet.Set) error {
	taken := d.moves.set(parts) != fleet.Set{}
	d.health.Keep(d.moves.has)
	// What has begun with the parts of before ends first: a claim, a step of a replay.
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

// Lose is SetParts without any, for a dispatcher that has lost its parts to others, who
// may have claimed by now what it holds: it forgets what is queued, handlers' included,
// and gives nothing back. The claims run out by themselves. Attempts under way finish,
// and are recorded. It does not wait.
func (d *Dispatcher) Lose() {
	d.moves.lose()
	d.health.Keep(d.moves.has)
	d.replayer.keep(false)
}

// Hold has no attempt begin until it is called with false: a dispatcher that does not know
// whether it still has its parts must not add to what another one sends. Those under way
// finish. What is queued stays, as long as its claim.
func (d *Dispatcher) Hold(on bool) { d.moves.hold(on) }

// Wake has the outbox looked at now: another dispatcher says that something is due, see
// Config.Elsewhere. It does not wait, and calls that come during a look are one look.
// Without it a dispatcher that has been given parts looks once a second.
func (d *Dispatcher) Wake() {
	d.reader.alarm.WakeAt(d.cfg.Now())
	d.replayer.hint()
}
