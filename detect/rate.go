package detect

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
)

// Hold(true) stops new polls, probes and searches until Hold(false) is called. A node of a fleet
// calls it while it does not know whether it still has its parts, and while it takes some. Calls under
// way and the streams go on.
func (d *Detector) Hold(hold bool) {
	d.gate.Hold(hold)
	d.ring()
}

// Rates returns Config.FetchRate and Config.ProbeRate. The nodes of a fleet share them.
func (d *Detector) Rates() (calls, probes float64) { return d.cfg.FetchRate, d.cfg.ProbeRate }

// SetRate sets how many calls per second this node of a fleet may make. That is its share of
// Config.FetchRate, which must not be 0. With 0 the node makes no calls. Config.FetchBurst (except
// for one call) and Cost.Limit change in proportion.
func (d *Detector) SetRate(perSecond float64) {
	d.env.Budget.SetRate(max(0, perSecond))
	if perSecond > 0 {
		d.refresh()
	}
}

// refresh adjusts the pace to a changed number of calls for accounts.
func (d *Detector) refresh() {
	if d.paced != nil {
		d.shards[0].Tell(func(*shards.Shard) { d.paced.Refresh() })
	}
}

// SetProbeRate sets how many calls per second this node's probes may make. That is its share of
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

// Demand returns the demand of this node. The nodes of a fleet share FetchRate in proportion to
// their demands. Under a budget, sum is Σ√(weight × post rate) over the node's accounts, by which
// package pace shares calls, and accounts is their number. When intervals set the pace, sum is the
// number of calls per second needed, searches included, and accounts is 0. The call is cheap; the
// figures may be some seconds old.
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

// CloseBucket stops the calls of a bucket until the given time; "" is the bucket of all calls. It
// is for limits that Deps.OnClosed reported in another process. One call of CloseBucket closes a
// bucket for 15 min at most.
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
