package detect

import (
	"context"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// ProbeStats counts what probes did; zero without Roles.Probe.
type ProbeStats = probe.Stats

// maxProbing is how many calls of the Prober a shard has under way.
const maxProbing = 4

// newSweep gives a shard its part of the probes.
func (d *Detector) newSweep(sh *shard) *probe.Sweep {
	return probe.New(probe.Config{
		Prober: d.deps.Roles.Probe, Health: d.probes, Accounts: accounts.Probed{Targets: sh.accounts},
		PerSecond: d.cfg.ProbeRate / float64(min(d.cfg.Shards, d.cfg.FetchSlots)),
		Timeout:   d.cfg.FetchTimeout, Backoff: d.env.Backoff, Logger: d.deps.Logger, Now: d.deps.Now,
	})
}

// startProbes makes the calls that probes have to themselves, and says when the
// next one may be made.
func (sh *shard) startProbes(ctx context.Context) (next int64) {
	sweep := sh.accounts.Probes
	if sweep == nil {
		return never
	}
	if wait := sh.d.env.Budget.Spend.Wait(); wait > 0 {
		return sh.times.Now + int64(wait)
	}
	sweep.Repeat(sh.times.Now)
	for sweep.Due(sh.times.Now) && sh.startProbe(ctx) {
		continue
	}
	if sweep.Due(sh.times.Now) {
		return never // a message wakes the shard
	}
	return sweep.NextAt()
}

// startProbe calls the Prober, if a call is free and there are accounts.
func (sh *shard) startProbe(ctx context.Context) bool {
	if sh.probing == maxProbing || sh.room() <= 0 {
		return false
	}
	call := sh.accounts.Probes.Start(sh.times.Now)
	if call == nil {
		return false
	}
	sh.probing++
	sh.d.env.Count.Calls.Add(1)
	sh.workers.Do(ctx,
		func(ctx context.Context) { sh.accounts.Probes.Make(ctx, call) },
		func() { sh.mail.Put(message{probed: call}) })
	return true
}
