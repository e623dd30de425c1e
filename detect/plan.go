package detect

import (
	"context"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/forecast"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/internal/pace"
	"github.com/streamwatch/streamwatch/monitor"
)

// Plan predicts what polling will bring and cost, from how often the accounts have posted,
// how many pages a poll has read and how long calls have taken so far. It assumes that
// these stay as they are and that nothing fails. Where a budget is too small for bounds
// that differ much, latency may be better than planned.
type Plan struct {
	// Budget is how many calls a second are spent where they find posts earliest, with
	// intervals as bounds; 0 when intervals set the pace.
	Budget float64
	// Mean and P95 are of the time from publication to detection, over posts; they
	// contain the mean time of a call.
	Mean, P95       time.Duration
	CallsPerMinute  float64
	LongestInterval time.Duration // of any account
	// Feasible: the calls allowed suffice to keep every interval, or every bound on the
	// time between polls. Otherwise Shortfall is how many calls a minute are missing, and
	// the other figures take that into account. The cap of owners is left
	// out: the posts of an owner above it come later than planned.
	Feasible  bool
	Shortfall float64
}

// Plans are the plan for the present budget, and for others.
type Plans struct {
	Accounts int
	Now      Plan
	Other    []Plan
	// Queries lists every query, with its calls and the reason. The calls are contained in
	// CallsPerMinute; Mean, P95 and LongestInterval are of accounts alone.
	Queries []PlannedQuery
	// Probes is Now as Roles.Probe changes it, by the share of posts that marks have missed
	// so far; nil without a Prober.
	Probes *ProbePlan
	// CostPerDay is what the platform will charge a day by Config.Cost.Prices: for each of
	// the accounts' posts, returned once, as TimelineQuery.Since allows; for each probed
	// account once; for the stream; and for posts of queries, at the rate at which they were
	// found so far, 0 before Run.
	CostPerDay float64
}

// ProbePlan predicts what probes bring.
type ProbePlan struct {
	Mean           time.Duration // as Plan.Mean
	CallsPerMinute float64       // probes and polls
}

// PlanFor predicts for subscriptions and queries that nobody polls yet, at the
// detector's settings; every account counts alike, with a post a day.
func (d *Detector) PlanFor(subs []Subscription, queries []QuerySubscription, budgets ...float64) (Plans, error) {
	watched := map[string]*pace.Group{}
	for _, sub := range subs {
		for _, a := range sub.Accounts {
			key := monitor.Key(a.Username)
			g := watched[key]
			if g == nil {
				g = &pace.Group{Accounts: 1, Rate: accounts.UnknownRate}
				watched[key] = g
			}
			g.Weight += sub.weight()
			if sub.Interval > 0 && (g.Interval == 0 || sub.Interval < g.Interval) {
				g.Interval = sub.Interval
			}
		}
	}
	groups := make([]pace.Group, 0, len(watched))
	for _, g := range watched {
		groups = append(groups, *g)
	}
	planned := planner{d: d}.queriesFor(queries, func(name string) time.Duration {
		if g := watched[monitor.Key(name)]; g != nil {
			return g.Interval
		}
		return 0
	})
	return planner{d: d}.plans(groups, planned, budgets)
}

// Plan predicts what the present subscriptions will bring, and what they would bring with
// other budgets, in calls a second. It waits for Run to begin. In a fleet the plan is for
// all nodes together and the whole FetchRate; accounts of other nodes are taken to post as
// often as this node's own.
func (d *Detector) Plan(ctx context.Context, budgets ...float64) (Plans, error) {
	groups, err := d.sharing.all().Groups(ctx)
	if err != nil {
		return Plans{}, err
	}
	rules, err := d.router.planned(ctx)
	if err != nil {
		return Plans{}, err
	}
	p := planner{d, !d.sharing.share.Alone()}
	groups = d.sharing.elsewhere.Groups(groups, d.cfg.Pace != PaceInterval, accounts.UnknownRate)
	return p.plans(groups, p.queries(rules), budgets)
}

// planner makes plans from the statistics of a Detector.
type planner struct {
	d     *Detector
	fleet bool // plans are for all nodes
}

// settings returns the settings and measurements that plans are made from, but for Fetch.
func (p planner) settings() forecast.Settings {
	return forecast.Settings{Budgeted: p.d.cfg.Pace != PaceInterval, AtLeast: p.d.cfg.Pace == PaceAtLeast, MinBound: MinBound,
		Rate: p.rate(), Batch: p.d.cfg.BatchSize, Shards: len(p.d.shards), Pages: p.pagesPer(poll.Accounts)}
}

// plans returns the plans for accounts and queries.
func (p planner) plans(groups []pace.Group, queries []PlannedQuery, budgets []float64) (Plans, error) {
	out := Plans{Queries: queries}
	expected := spend.Expected{Probed: p.d.probes != nil, Streamed: p.d.streams[poll.Accounts] != nil, Posts: p.queryPosts()}
	for _, g := range groups {
		out.Accounts += g.Accounts
		expected.Posts += float64(g.Accounts) * g.Rate
	}
	expected.Accounts = out.Accounts
	out.CostPerDay = spend.PerDay(p.d.cfg.Cost.Prices, expected)
	s := p.settings()
	s.Fetch = p.d.env.Count.Fetch.Snapshot().Mean()
	now, other, err := s.Plans(groups, callsASecond(queries), budgets)
	if err != nil {
		return Plans{}, err
	}
	out.Now = Plan(now)
	for _, o := range other {
		out.Other = append(out.Other, Plan(o))
	}
	out.Probes = p.probes(s, out.Now, out.Accounts)
	return out, nil
}

// queryPosts returns how many posts a second searches have found so far.
func (p planner) queryPosts() float64 {
	posts := p.d.env.Count.Kinds[poll.Queries].Stages.Detection.Snapshot().Count()
	return float64(posts) / max(1, time.Duration(p.d.clock()).Seconds())
}

// probes returns a plan as probes change it; nil without a Prober.
func (p planner) probes(s forecast.Settings, now Plan, accounts int) *ProbePlan {
	if p.d.probes == nil {
		return nil
	}
	plan := ProbePlan(s.Probes(forecast.Plan(now), accounts, forecast.ProbeSettings{
		Rate: p.d.cfg.ProbeRate, Limit: p.d.deps.Roles.Probe.ProbeLimit(),
		Missed: p.d.probes.Stats().MissRate, Speedup: p.d.probes.Speedup(),
	}))
	return &plan
}

// pollRate returns how many accounts a second can be polled with the calls allowed.
func (p planner) pollRate() float64 {
	together := max(1, min(int64(p.d.cfg.BatchSize), p.d.env.Count.Kinds[poll.Accounts].Targets.Load()))
	rate := forecast.ForAccounts(p.rate(), math.Float64frombits(p.d.count.queryRate.Load()))
	if p.d.probes != nil && p.d.cfg.ProbeRate == 0 {
		rate *= 1 - p.d.probes.Share()
	}
	return rate / p.settings().CallsPerPoll(float64(together))
}

// rate returns how many calls a second are allowed, 0 for no bound.
func (p planner) rate() float64 {
	if rate := p.d.env.Budget.Rate(); rate > 0 && !p.fleet {
		return rate
	}
	return p.d.cfg.FetchRate // of the fleet; or this node may make none, and plans assume that it may
}

// callsFor returns how many calls a second a number of polls a second takes.
func (p planner) callsFor(polls float64) float64 {
	s, targets := p.settings(), float64(p.d.env.Count.Kinds[poll.Accounts].Targets.Load())
	return polls * s.CallsPerPoll(s.Together(targets))
}
