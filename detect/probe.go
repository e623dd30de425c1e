package detect

import (
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// ProbeStats counts what probes did; zero without Roles.Probe.
type ProbeStats = probe.Stats

// newSweep gives a shard its part of the probes.
func newSweep(d *Detector, sh *shards.Shard) *probe.Sweep {
	return probe.New(probe.Config{
		Prober: d.deps.Roles.Probe, Health: d.probes, Accounts: accounts.Probed{Targets: sh.Accounts},
		PerSecond: d.cfg.ProbeRate / float64(min(d.cfg.Shards, d.cfg.FetchSlots)),
		Timeout:   d.cfg.FetchTimeout, Backoff: d.env.Backoff, Logger: d.deps.Logger, Now: d.deps.Now,
	})
}
