package detect

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
)

// Hold lets no poll, probe or search begin until it is called with false. It is for a node
// of a fleet that does not know whether its parts are still its own. Calls under way go on,
// and so do the streams.
func (d *Detector) Hold(hold bool) {
	d.gate.Hold(hold)
	d.ring()
}

// Rates returns Config.FetchRate and Config.ProbeRate, which the nodes of a fleet share.
func (d *Detector) Rates() (calls, probes float64) { return d.cfg.FetchRate, d.cfg.ProbeRate }

// SetRate sets how many calls a second this node of a fleet may make: its share of
// Config.FetchRate, which must not be 0. With 0 it makes none. Config.FetchBurst, but for
// one call, and Cost.Limit change in proportion.
func (d *Detector) SetRate(perSecond float64) {
	d.env.Budget.SetRate(max(0, perSecond))
	if perSecond > 0 {
		d.refresh()
	}
}

// refresh has a budget follow a change of how many calls accounts may take.
func (d *Detector) refresh() {
	if d.paced != nil {
		d.shards[0].Tell(func(*shards.Shard) { d.paced.Refresh() })
	}
}

// SetProbeRate sets how many calls a second probes of this node may make: its share of
// Config.ProbeRate, which must not be 0.
func (d *Detector) SetProbeRate(perSecond float64) {
	if d.probes == nil {
		return
	}
	for _, sh := range d.shards {
		sh.Tell(func(sh *shards.Shard) {
			sh.Accounts.Probes.SetRate(perSecond/float64(len(d.shards)), d.clock())
		})
	}
}

// Demand returns the demand of this node, in proportion to which the nodes of a fleet share
// FetchRate. Under a budget sum is Σ√(weight × rate of posts) over the node's accounts, as
// package pace shares calls, and accounts is their number. Where intervals set the pace, sum
// is the number of calls a second needed, searches included, and accounts is 0. The call is
// cheap; the figures may be some seconds old.
func (d *Detector) Demand() (sum float64, accounts int64) {
	of := shards.ByInterval
	if d.paced != nil {
		of, accounts = shards.ByBudget, d.env.Count.Kinds[poll.Accounts].Targets.Load()
	}
	for _, sh := range d.shards {
		sum += sh.Demand(of)
	}
	if d.paced != nil {
		return sum, accounts
	}
	return planner{d: d}.callsFor(sum) + math.Float64frombits(d.count.queryRate.Load()), 0
}

// CloseBucket lets no call that counts against a limit begin before until. It passes on what
// Deps.OnClosed reported in another process. "" is the limit of all calls. A bucket is closed
// for 15 min at most at a time.
func (d *Detector) CloseBucket(bucket string, until time.Time) {
	const why = "another process has met it"
	if wait := until.Sub(d.deps.Now()); bucket == "" {
		d.env.Budget.Close(min(wait, budget.MaxClosed), why)
	} else {
		d.env.Budget.Buckets.Close(bucket, wait, why)
	}
	d.ring()
}

// pagesPer returns how many pages a successful poll of a kind has read on average.
func (p planner) pagesPer(kind poll.Kind) float64 {
	c := &p.d.env.Count.Kinds[kind]
	polls := c.Polls.Load() - c.Errors.Load()
	if polls <= 0 {
		return 1
	}
	return max(1, float64(c.Pages.Load())/float64(polls))
}
