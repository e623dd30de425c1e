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

// Plan predicts what polling will bring and cost, from how often the accounts
// have posted, how many pages a poll has read and how long calls have taken so
// far. Failures are not in it, nor is a change of these. Where a budget is too
// small for bounds that differ much, what happens may be better than planned.
type Plan struct {
	// Budget is the calls a second that are spent where they find posts
	// earliest, with intervals as bounds; 0 when intervals set the pace.
	Budget float64
	// Mean and P95 are from publication to detection, over posts; they contain
	// the mean time of a call.
	Mean, P95       time.Duration
	CallsPerMinute  float64
	LongestInterval time.Duration // of any account
	// Feasible: the calls allowed suffice to keep every interval, or every
	// longest time between polls. Shortfall is how many a minute are missing;
	// the figures are of what happens then. Config.Shares.OwnerSurplus is left out: an
	// owner above its cap waits longer than planned.
	Feasible  bool
	Shortfall float64
}

// Plans are the plan as things are, and what other budgets would bring.
type Plans struct {
	Accounts int
	Now      Plan
	Other    []Plan
	// Queries lists every query, and why it costs what it does. Their calls are
	// in CallsPerMinute; Mean, P95 and LongestInterval are of accounts alone.
	Queries []PlannedQuery
	// Probes is what Now becomes by Roles.Probe, nil without one: by how many posts
	// its marks have missed so far.
	Probes *ProbePlan
	// CostPerDay is what the platform will charge a day by Config.Cost.Prices, for the
	// accounts' posts, each returned once as TimelineQuery.Since allows, for each probed
	// account once, and for the stream. For queries it is what their posts have come to so far, 0 before
	// Run.
	CostPerDay float64
}

// ProbePlan predicts what probes bring.
type ProbePlan struct {
	Mean           time.Duration // as Plan.Mean
	CallsPerMinute float64       // probes and polls
}

// Comparison sets a plan beside what then happened.
type Comparison struct {
	From, To time.Time
	Plan     Plan // made at From
	// What happened: see Latency.Detection.
	Mean, P95      time.Duration
	Posts          int64
	CallsPerMinute float64
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

// Plan predicts what the subscriptions as they are will bring, and what other
// budgets, in calls a second, would. It waits for Run to begin. With SetParts it is of what all
// nodes poll and search for, out of FetchRate; accounts elsewhere count as this node's own do.
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

// planner makes plans from what a Detector has seen.
type planner struct {
	d     *Detector
	fleet bool // plans are for all nodes
}

// settings are what plans are made from.
func (p planner) settings() forecast.Settings {
	return forecast.Settings{Budgeted: p.d.cfg.Pace != PaceInterval, AtLeast: p.d.cfg.Pace == PaceAtLeast, MinBound: MinBound,
		Rate: p.rate(), Batch: p.d.cfg.BatchSize, Shards: len(p.d.shards),
		Pages: p.pagesPer(poll.Accounts), Fetch: p.d.env.Count.Fetch.Snapshot().Mean()}
}

// plans plans for accounts and queries.
func (p planner) plans(groups []pace.Group, queries []PlannedQuery, budgets []float64) (Plans, error) {
	out := Plans{Queries: queries}
	expected := spend.Expected{Probed: p.d.probes != nil, Streamed: p.d.streams[poll.Accounts] != nil, Posts: p.queryPosts()}
	for _, g := range groups {
		out.Accounts += g.Accounts
		expected.Posts += float64(g.Accounts) * g.Rate
	}
	expected.Accounts = out.Accounts
	out.CostPerDay = spend.PerDay(p.d.cfg.Cost.Prices, expected)
	now, other, err := p.settings().Plans(groups, callsASecond(queries), budgets)
	if err != nil {
		return Plans{}, err
	}
	out.Now = Plan(now)
	for _, o := range other {
		out.Other = append(out.Other, Plan(o))
	}
	out.Probes = p.probes(out.Now, out.Accounts)
	return out, nil
}

// queryPosts is how many posts a second searches have found so far.
func (p planner) queryPosts() float64 {
	posts := p.d.env.Count.Kinds[poll.Queries].Stages.Detection.Snapshot().Count()
	return float64(posts) / max(1, time.Duration(p.d.clock()).Seconds())
}

// probes is what probes make of a plan; nil without them.
func (p planner) probes(now Plan, accounts int) *ProbePlan {
	if p.d.probes == nil {
		return nil
	}
	plan := ProbePlan(p.settings().Probes(forecast.Plan(now), accounts, forecast.ProbeSettings{
		Rate: p.d.cfg.ProbeRate, Limit: p.d.deps.Roles.Probe.ProbeLimit(),
		Missed: p.d.probes.Stats().MissRate, Speedup: p.d.probes.Speedup(),
	}))
	return &plan
}

// pollRate is how many accounts a second the calls allow to poll.
func (p planner) pollRate() float64 {
	together := max(1, min(int64(p.d.cfg.BatchSize), p.d.env.Count.Kinds[poll.Accounts].Targets.Load()))
	rate := forecast.ForAccounts(p.rate(), math.Float64frombits(p.d.count.queryRate.Load()))
	if p.d.probes != nil && p.d.cfg.ProbeRate == 0 {
		rate *= 1 - p.d.probes.Share()
	}
	return rate / p.settings().CallsPerPoll(float64(together))
}

// rate is how many calls a second are made at most, 0 for no bound.
func (p planner) rate() float64 {
	if rate := p.d.env.Budget.Rate(); rate > 0 && !p.fleet {
		return rate
	}
	return p.d.cfg.FetchRate // none is made, and plans are of what would be
}

// callsFor is how many calls a second so many polls take.
func (p planner) callsFor(polls float64) float64 {
	s, targets := p.settings(), float64(p.d.env.Count.Kinds[poll.Accounts].Targets.Load())
	return polls * s.CallsPerPoll(s.Together(targets))
}
