package shards

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// message is a message to a shard. One field is set; with settled, err may be set too.
type message struct {
	landed  *poll.Poll // a poll with all its pages read
	settled *poll.Poll // a poll that is committed or, if err is set, is not
	err     error
	probed  *probe.Call  // a call that has ended
	tell    func(*Shard) // a function to call
}

func (sh *Shard) handle(m *message) {
	switch {
	case m.landed != nil:
		sh.workers.Ended(m.landed)
		m.landed.Machine.Landed(m.landed)
	case m.settled != nil:
		m.settled.Machine.Settled(m.settled, m.err)
	case m.probed != nil:
		sh.workers.Done()
		sh.probing--
		sh.Accounts.Probes.Landed(m.probed, sh.times.Now)
	case m.tell != nil:
		m.tell(sh)
	}
}

// Ring wakes the shard to look at the clock, the budget and Config.Stop.
func (sh *Shard) Ring() { sh.mail.Bell().Ring() }

// Tell makes the shard's goroutine call fn, after the functions of earlier calls.
func (sh *Shard) Tell(fn func(*Shard)) { sh.mail.Put(message{tell: fn}) }

// Settled reports to the shard that a poll is committed. With an error it reports that it is not.
func (sh *Shard) Settled(p *poll.Poll, err error) { sh.mail.Put(message{settled: p, err: err}) }

// Ask runs fn on the shard's goroutine and waits for fn. After an error fn may still run.
func (sh *Shard) Ask(ctx context.Context, fn func(*Shard)) error {
	done := make(chan struct{})
	sh.Tell(func(sh *Shard) { fn(sh); close(done) })
	select {
	case <-done:
		return nil
	case <-sh.cfg.Stop: // Run waits for some of the callers: they must not wait for Run
		return sh.env.Budget.Stopped()
	case <-sh.cfg.Done:
		return sh.env.Budget.Stopped()
	case <-ctx.Done():
		return fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}

// Streamed calls fn on the shard's goroutine, with the targets that the stream of a kind covers.
// AskStreamed does so too and waits for fn to return; after an error fn may still be called.
func (sh *Shard) Streamed(kind poll.Kind, fn func(push.Covered)) {
	sh.Tell(func(sh *Shard) { fn(sh.covered(kind)) })
}

func (sh *Shard) AskStreamed(ctx context.Context, kind poll.Kind, fn func(push.Covered)) error {
	return sh.Ask(ctx, func(sh *Shard) { fn(sh.covered(kind)) })
}

func (sh *Shard) covered(kind poll.Kind) push.Covered {
	if kind == poll.Queries {
		return sh.Queries.Pushed
	}
	return sh.Accounts.Pushed
}
