package shards

import (
	"context"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
)

// maxProbing is the highest number of Prober calls that a shard has under way.
const maxProbing = 4

// startProbes begins the probes that are due at the rate of probes, and returns when the next one
// may begin.
func (sh *Shard) startProbes(ctx context.Context) (next int64) {
	sweep := sh.Accounts.Probes
	if sweep == nil {
		return never
	}
	now := sh.times.Now
	if wait := sh.env.Budget.Closed(now); wait > 0 { // no poll could follow the probe
		return now + int64(min(wait, budget.AskAgain))
	}
	sweep.Repeat(now)
	if until := sh.env.ProbesClosed(); until > now && sweep.Due(now) {
		return until
	}
	for sweep.Due(now) && sh.startProbe(ctx) {
		continue
	}
	if sweep.Due(now) {
		return never // a message wakes the shard
	}
	return sweep.NextAt()
}

// startProbe begins a call of the Prober. It returns false if no slot is free, or if no account
// needs a probe.
func (sh *Shard) startProbe(ctx context.Context) bool {
	if sh.probing == maxProbing || sh.room() <= 0 {
		return false
	}
	call := sh.Accounts.Probes.Start(sh.times.Now)
	if call == nil {
		return false
	}
	sh.probing++
	sh.env.Count.Calls.Add(1)
	sh.workers.Do(ctx,
		func(ctx context.Context) { sh.Accounts.Probes.Make(ctx, call) },
		func() { sh.mail.Put(message{probed: call}) })
	return true
}
