package detect

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
)

// Hold keeps polls, probes and searches from beginning until it is called with false: for a
// node of a fleet that does not know whether its parts are its own any more. Those under
// way go on, and so do the streams.
func (d *Detector) Hold(hold bool) {
	d.gate.Hold(hold)
	d.ring()
}

// Rates are Config.FetchRate and Config.ProbeRate: what the nodes of a fleet have together.
func (d *Detector) Rates() (calls, probes float64) { return d.cfg.FetchRate, d.cfg.ProbeRate }

// SetRate sets how many calls a second are made in place of Config.FetchRate, which must
// not be 0: the share of it that this node of a fleet has. With 0 none is made.
// Config.FetchBurst, but for one call, and Cost.Limit change in proportion.
func (d *Detector) SetRate(perSecond float64) {
	d.env.Budget.SetRate(max(0, perSecond))
	if perSecond > 0 {
		d.shards[0].Tell(func(sh *shards.Shard) { sh.Accounts.Sched.Refresh() })
	}
}

// SetProbeRate sets how many calls a second probes make in place of Config.ProbeRate,
// which must not be 0.
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

// Demand is what this node's accounts ask for, by which the nodes of a fleet share
// FetchRate: under a budget Σ√(weight × rate of posts), as package pace shares it, of so
// many accounts; where intervals set the pace, the calls a second that these take, searches
// included, and 0 accounts. It is cheap, and may be some seconds old.
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

// CloseBucket has calls wait until a time that count against a limit which another process
// has met, as Deps.OnClosed told it there; "" is the limit of all calls. It is never
// closed for longer than 15 min at a time.
func (d *Detector) CloseBucket(bucket string, until time.Time) {
	const why = "another process has met it"
	if wait := until.Sub(d.deps.Now()); bucket == "" {
		d.env.Budget.Close(min(wait, budget.MaxClosed), why)
	} else {
		d.env.Budget.Buckets.Close(bucket, wait, why)
	}
	d.ring()
}

// pagesPer is how many pages a successful poll of a kind has read in the mean.
func (p planner) pagesPer(kind poll.Kind) float64 {
	c := &p.d.env.Count.Kinds[kind]
	polls := c.Polls.Load() - c.Errors.Load()
	if polls <= 0 {
		return 1
	}
	return max(1, float64(c.Pages.Load())/float64(polls))
}
