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

// Plan predicts the latency and cost of polling. It uses how often the accounts have posted, how
// many pages a poll has read and how long calls have taken so far. It assumes that these stay the
// same and that nothing fails. If a budget is too small for bounds that differ much, latency may be
// better than planned.
type Plan struct {
	// Budget is the number of calls per second that are spent where they find posts earliest, with
	// intervals as bounds. It is 0 when intervals set the pace.
	Budget float64
	// Mean and P95 are the mean and the 95th percentile of the time from publication to detection,
	// over posts. They include the mean time of a call.
	Mean, P95       time.Duration
	CallsPerMinute  float64
	LongestInterval time.Duration // the longest of any account
	// Feasible is true if the calls allowed suffice for every interval, or for every bound on the
	// time between polls. Otherwise Shortfall is how many calls per minute are missing; the other
	// figures include its effect. The plan ignores the cap of owners: posts of an owner above the
	// cap come later than planned.
	Feasible  bool
	Shortfall float64
}

// Plans holds the plan for the present budget, and the plans for others.
type Plans struct {
	Accounts int
	Now      Plan
	Other    []Plan
	// Queries lists every query, with the calls that it costs and why it is polled.
	// CallsPerMinute includes these calls; Mean, P95 and LongestInterval cover accounts alone.
	Queries []PlannedQuery
	// Probes is the plan Now with the effect of Roles.Probe; nil without a Prober. It uses the
	// share of posts that marks have missed so far.
	Probes *ProbePlan
	// CostPerDay is how much the platform will charge per day by Config.Cost.Prices. It counts each
	// post of the accounts once, as TimelineQuery.Since allows, and each probed account once. It
	// adds the stream, and posts of queries at the rate found so far (0 before Run).
	CostPerDay float64
}

// ProbePlan predicts the latency and calls with probes.
type ProbePlan struct {
	Mean           time.Duration // see Plan.Mean
	CallsPerMinute float64       // of probes and polls
}

// PlanFor makes plans for subscriptions and queries that nobody polls yet, with the detector's
// settings. It assumes that every account publishes one post per day.
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
			if iv := d.cfg.interval(sub.Interval); iv > 0 && (g.Interval == 0 || iv < g.Interval) {
				g.Interval = iv
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

// Plan makes plans for the present subscriptions, with the present budget and with other budgets,
// in calls per second. It waits until Run has begun. In a fleet the plan is for all nodes together
// and the whole FetchRate. It assumes equal post rates for the accounts of all nodes.
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
	fleet bool // whether plans are for all nodes
}

// settings returns the settings and measurements for plans, without Fetch.
func (p planner) settings() forecast.Settings {
	return forecast.Settings{Budgeted: p.d.cfg.Pace != PaceInterval, AtLeast: p.d.cfg.Pace == PaceAtLeast, MinBound: MinBound, MinInterval: p.d.cfg.MinInterval,
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

// queryPosts returns how many posts per second searches have found so far.
func (p planner) queryPosts() float64 {
	posts := p.d.env.Count.Kinds[poll.Queries].Stages.Detection.Snapshot().Count()
	return float64(posts) / max(1, time.Duration(p.d.clock()).Seconds())
}

// probes returns the plan now with the effect of probes; nil without a Prober.
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

// pollRate returns how many accounts per second can be polled with the calls allowed.
func (p planner) pollRate() float64 {
	together := max(1, min(int64(p.d.cfg.BatchSize), p.d.env.Count.Kinds[poll.Accounts].Targets.Load()))
	rate := forecast.ForAccounts(p.rate(), math.Float64frombits(p.d.count.queryRate.Load()))
	if p.d.probes != nil && p.d.cfg.ProbeRate == 0 {
		rate *= 1 - p.d.probes.Share()
	}
	return rate / p.settings().CallsPerPoll(float64(together))
}

// rate returns how many calls per second are allowed; 0 means no limit.
func (p planner) rate() float64 {
	if rate := p.d.env.Budget.Rate(); rate > 0 && !p.fleet {
		return rate
	}
	return p.d.cfg.FetchRate // in a fleet, or while this node may make no calls: plans assume that it may
}

// callsFor returns how many calls per second are needed for a number of polls per second.
func (p planner) callsFor(polls float64) float64 {
	s, targets := p.settings(), float64(p.d.env.Count.Kinds[poll.Accounts].Targets.Load())
	return polls * s.CallsPerPoll(s.Together(targets))
}
