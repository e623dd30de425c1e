package detect

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/schedule"
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
	// the figures are of what happens then. Config.OwnerSurplus is left out: an
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
	accounts := map[string]*pace.Group{}
	for _, sub := range subs {
		for _, a := range sub.Accounts {
			key := monitor.Key(a.Username)
			g := accounts[key]
			if g == nil {
				g = &pace.Group{Accounts: 1, Rate: unknownRate}
				accounts[key] = g
			}
			g.Weight += sub.weight()
			if sub.Interval > 0 && (g.Interval == 0 || sub.Interval < g.Interval) {
				g.Interval = sub.Interval
			}
		}
	}
	groups := make([]pace.Group, 0, len(accounts))
	for _, g := range accounts {
		groups = append(groups, *g)
	}
	planned := d.planRulesFor(queries, func(name string) time.Duration {
		if g := accounts[monitor.Key(name)]; g != nil {
			return g.Interval
		}
		return 0
	})
	return d.planning().plans(groups, planned, budgets)
}

// Plan predicts what the subscriptions as they are will bring, and what other
// budgets, in calls a second, would. It waits for Run to begin.
func (d *Detector) Plan(ctx context.Context, budgets ...float64) (Plans, error) {
	groups, err := d.groups(ctx)
	if err != nil {
		return Plans{}, err
	}
	queries, err := d.planRules(ctx)
	if err != nil {
		return Plans{}, err
	}
	return d.planning().plans(groups, queries, budgets)
}

// planning is what plans are made from, beside the accounts.
type planning struct {
	pace   Pace
	rate   float64 // calls a second, 0 for unbounded
	batch  int     // accounts in a call at most
	shards int
	pages  float64       // of a poll, in the mean
	fetch  time.Duration // of one call, in the mean
}

func (d *Detector) planning() planning {
	return planning{pace: d.cfg.Pace, rate: d.cfg.FetchRate, batch: d.batchSize, shards: len(d.shards),
		pages: d.pagesPerPoll(), fetch: d.count.fetch.Snapshot().Mean()}
}

// pagesPerPoll is how many pages a successful poll has read in the mean.
func (d *Detector) pagesPerPoll() float64 {
	polls := d.count.polls.Load() - d.count.pollErrors.Load()
	if polls <= 0 {
		return 1
	}
	return max(1, float64(d.count.pages.Load())/float64(polls))
}

func (cfg planning) plans(groups []pace.Group, queries []PlannedQuery, budgets []float64) (Plans, error) {
	p := Plans{Queries: queries}
	searches := callsASecond(queries)
	total := cfg.rate
	if total > 0 {
		cfg.rate = forAccounts(total, searches)
	}
	for _, g := range groups {
		p.Accounts += g.Accounts
	}
	var err error
	if cfg.pace == PaceInterval {
		p.Now = cfg.intervals(groups, p.Accounts)
	} else if p.Now, err = cfg.budget(groups, p.Accounts, cfg.rate); err != nil {
		return Plans{}, err
	} else {
		p.Now.Budget = total
	}
	p.Now.CallsPerMinute += 60 * searches
	for i, b := range budgets {
		if !(b > 0 && b <= maxRate) {
			return Plans{}, fmt.Errorf("detect: budgets[%d] %v is not allowed: want more than 0 and at most %g calls a second", i, b, maxRate)
		}
		other, err := cfg.budget(groups, p.Accounts, forAccounts(b, searches))
		if err != nil {
			return Plans{}, err
		}
		other.Budget = b
		other.CallsPerMinute += 60 * searches
		p.Other = append(p.Other, other)
	}
	return p, nil
}

func (cfg planning) intervals(groups []pace.Group, accounts int) Plan {
	// An account shares its call with those due in the next part of its interval.
	together := min(float64(cfg.batch), 1+float64(accounts)/float64(cfg.shards*schedule.LookAhead))
	calls := cfg.callsPerPoll(together)
	f := pace.Intervals(groups)
	if polls := f.CallsPerMinute / 60; cfg.rate > 0 && polls*calls > cfg.rate {
		// More are due at a time: calls are as full as they need to be, or can.
		full := cfg.callsPerPoll(float64(max(1, min(cfg.batch, accounts))))
		if calls = max(full, cfg.rate/polls); calls == full {
			f = pace.IntervalsWithin(groups, cfg.rate/full)
		}
	}
	return cfg.plan(f, calls)
}

func (cfg planning) budget(groups []pace.Group, accounts int, budget float64) (Plan, error) {
	bounded := make([]pace.Group, len(groups))
	for i, g := range groups {
		if g.Interval > 0 && g.Min == 0 && g.Max == 0 {
			if bound := max(g.Interval, MinBound); cfg.pace == PaceAtLeast {
				g.Min = bound
			} else {
				g.Max = bound
			}
		}
		bounded[i] = g
	}
	calls := cfg.callsPerPoll(float64(max(1, min(cfg.batch, accounts))))
	f, err := pace.Budget(bounded, pace.Config{Budget: budget / calls})
	if err != nil {
		return Plan{}, fmt.Errorf("detect: plan for %v calls a second: %w", budget, err)
	}
	plan := cfg.plan(f, calls)
	plan.Budget = budget
	return plan, nil
}

// forAccounts is what searches leave of a budget: they go first, as long as
// accounts keep half of it.
func forAccounts(budget, searches float64) float64 { return max(budget-searches, budget/2) }

// callsPerPoll is for first pages that so many accounts share; pages after the
// first are read alone.
func (cfg planning) callsPerPoll(together float64) float64 { return 1/together + cfg.pages - 1 }

func (cfg planning) plan(f pace.Forecast, calls float64) Plan {
	return Plan{Mean: f.Mean + cfg.fetch, P95: f.P95 + cfg.fetch, CallsPerMinute: f.CallsPerMinute * calls,
		LongestInterval: f.LongestInterval, Feasible: f.Feasible, Shortfall: f.Shortfall * calls}
}

// groupSlots is how many targets are summarised at a time, so that polls do
// not wait for a plan.
const groupSlots = 4096

// groups summarises the accounts for a forecast.
func (d *Detector) groups(ctx context.Context) ([]pace.Group, error) {
	counts := map[pace.Group]int{}
	for _, sh := range d.shards {
		for from, more := int32(0), true; more; from += groupSlots {
			err := d.ask(ctx, sh, func(sh *shard) {
				more = from+groupSlots < sh.size
				for slot := from; slot < min(from+groupSlots, sh.size); slot++ {
					if sh.targets.at(slot).want >= 0 {
						counts[sh.group(slot)]++
					}
				}
			})
			if err != nil {
				return nil, err
			}
		}
	}
	groups := make([]pace.Group, 0, len(counts))
	for g, n := range counts {
		g.Accounts = n
		groups = append(groups, g)
	}
	return groups, nil
}

// group is the group of one account, with its rate to an eighth of an e-fold.
func (sh *shard) group(slot int32) pace.Group {
	g := pace.Group{Interval: sh.interval(slot)}
	sh.eachSub(slot, func(s subscriber) { g.Weight += sh.wants[s.want].source.weight })
	if r := sh.postRate(slot); r > 0 {
		g.Rate = math.Exp(math.Round(math.Log(r)*8) / 8)
	} else {
		g.Rate = unknownRate
	}
	return g
}

// unknownRate stands for that of accounts not polled yet: a post a day.
const unknownRate = 1.0 / 86_400
