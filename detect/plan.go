package detect

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect/pace"
	"github.com/streamwatch/streamwatch/latency"
)

// Plan predicts what polling will bring and cost, from how often the accounts
// have posted so far. Pages beyond the first, and the reading of gaps, are not
// in it; nor are failures.
type Plan struct {
	// Budget is the calls a second that are spent; 0 when intervals set the
	// pace.
	Budget float64
	// Mean and P95 are from publication to detection, over posts.
	Mean, P95       time.Duration
	CallsPerMinute  float64
	LongestInterval time.Duration // of any account
	// Feasible: the calls allowed suffice to keep every interval, or every
	// longest time between polls. Shortfall is how many a minute are missing;
	// the figures are of what happens then.
	Feasible  bool
	Shortfall float64
}

// Plans are the plan as things are, and what other budgets would bring.
type Plans struct {
	Accounts int
	Now      Plan
	Other    []Plan
}

// Comparison sets a plan beside what then happened.
type Comparison struct {
	From, To time.Time
	Plan     Plan
	// What happened, over events: see Latency.Detection.
	Mean, P95      time.Duration
	Events         int64
	CallsPerMinute float64
}

// PlanFor makes plans for accounts that are not polled yet, at the detector's
// settings. The groups' Interval is what the monitors ask for.
func (d *Detector) PlanFor(groups []pace.Group, budgets ...float64) (Plans, error) {
	cfg := planning{pace: d.cfg.Pace, rate: d.cfg.FetchRate, batch: d.batchSize, fetch: d.count.fetch.Snapshot().Mean()}
	var p Plans
	for _, g := range groups {
		p.Accounts += g.Accounts
	}
	var err error
	if cfg.pace == PaceInterval {
		p.Now = planIntervals(groups, cfg)
	} else if p.Now, err = planBudget(groups, cfg, cfg.rate); err != nil {
		return Plans{}, err
	}
	for _, b := range budgets {
		other, err := planBudget(groups, cfg, b)
		if err != nil {
			return Plans{}, err
		}
		p.Other = append(p.Other, other)
	}
	return p, nil
}

// planning is what plans are made from, beside the accounts.
type planning struct {
	pace  Pace
	rate  float64       // calls a second, 0 for unbounded
	batch int           // accounts in a call
	fetch time.Duration // of one call, in the mean
}

func planIntervals(groups []pace.Group, cfg planning) Plan {
	f := pace.Intervals(groups)
	plan := newPlan(f, cfg)
	if allowed := 60 * cfg.rate; allowed > 0 && plan.CallsPerMinute > allowed {
		// All polls wait their turn: intervals become longer by the same share.
		late := plan.CallsPerMinute / allowed
		slower := make([]pace.Group, len(groups))
		for i, g := range groups {
			g.Interval = time.Duration(float64(g.Interval) * late)
			slower[i] = g
		}
		short := plan.CallsPerMinute - allowed
		plan = newPlan(pace.Intervals(slower), cfg)
		plan.Feasible, plan.Shortfall = false, short
	}
	return plan
}

func planBudget(groups []pace.Group, cfg planning, budget float64) (Plan, error) {
	bounded := make([]pace.Group, len(groups))
	for i, g := range groups {
		if g.Interval > 0 && g.Min == 0 && g.Max == 0 {
			if cfg.pace == PaceAtLeast {
				g.Min = g.Interval
			} else {
				g.Max = g.Interval
			}
		}
		bounded[i] = g
	}
	f, err := pace.Budget(bounded, pace.Config{Budget: budget * float64(cfg.batch)})
	if err != nil {
		return Plan{}, fmt.Errorf("detect: plan for %v calls a second: %w", budget, err)
	}
	plan := newPlan(f, cfg)
	plan.Budget = budget
	return plan, nil
}

func newPlan(f pace.Forecast, cfg planning) Plan {
	calls := 1 / float64(max(1, cfg.batch))
	return Plan{Mean: f.Mean + cfg.fetch, P95: f.P95 + cfg.fetch, CallsPerMinute: f.CallsPerMinute * calls,
		LongestInterval: f.LongestInterval, Feasible: f.Feasible, Shortfall: f.Shortfall * calls}
}

// Plan predicts what the subscriptions as they are will bring, and what other
// budgets, in calls a second, would. It waits for Run to begin.
func (d *Detector) Plan(ctx context.Context, budgets ...float64) (Plans, error) {
	groups, err := d.groups(ctx)
	if err != nil {
		return Plans{}, err
	}
	return d.PlanFor(groups, budgets...)
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
				if more = sh.pacer == nil && from+groupSlots < sh.size; sh.pacer != nil {
					for _, g := range sh.pacer.Groups() {
						n := g.Accounts
						g.Accounts = 0
						counts[g] += n
					}
					return
				}
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
	sh.eachSub(slot, func(s *subscriber) { g.Weight += sh.wants[s.want].source.weight })
	if r := sh.targets.at(slot).rate.perSecond(); r > 0 {
		g.Rate = math.Exp(math.Round(math.Log(r)*8) / 8)
	} else {
		g.Rate = UnknownRate
	}
	return g
}

// UnknownRate stands for that of accounts not polled yet: a post a day.
const UnknownRate = 1.0 / 86_400

// ask lets a shard's goroutine run fn, and waits for it.
func (d *Detector) ask(ctx context.Context, sh *shard, fn func(*shard)) error {
	done := make(chan struct{})
	sh.mail.put(message{ask: func(sh *shard) { fn(sh); close(done) }})
	select {
	case <-done:
		return nil
	case <-d.stop: // Run waits for some who ask
		return errStopped
	case <-d.done:
		return errStopped
	case <-ctx.Done():
		return fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}

// foresight makes a plan every hour and compares it with what happened.
type foresight struct {
	mu   sync.Mutex
	last *Comparison
}

// Times of the comparison: the first plan is made once polls have shown how
// often accounts post.
const (
	firstPlan  = time.Minute
	comparison = time.Hour
)

// run is a goroutine of Run.
func (o *foresight) run(ctx context.Context, d *Detector) {
	timer := time.NewTimer(firstPlan)
	defer timer.Stop()
	var open *Comparison
	var detection latency.Snapshot
	var pages int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.stop:
			return
		case <-timer.C:
			timer.Reset(comparison)
		}
		now, seen, calls := d.cfg.Now(), d.stages.detection.Snapshot(), d.count.calls.Load()
		if open != nil {
			window := seen.Sub(detection)
			open.To, open.Mean, open.P95, open.Events = now, window.Mean(), window.Quantile(0.95), window.Count()
			open.CallsPerMinute = float64(calls-pages) / now.Sub(open.From).Minutes()
			o.mu.Lock()
			o.last = open
			o.mu.Unlock()
		}
		plans, err := d.Plan(ctx)
		if err != nil {
			return // it is stopping
		}
		open, detection, pages = &Comparison{From: now, Plan: plans.Now}, seen, calls
	}
}

// comparison is the last that is complete.
func (o *foresight) comparison() (Comparison, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		return Comparison{}, false
	}
	return *o.last, true
}
