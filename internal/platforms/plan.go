package platforms

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/detect"
)

// Plans has the plan of all platforms together. ByName has the plan of each platform; it is nil
// if no platform has a name.
type Plans struct {
	detect.Plans
	ByName map[string]detect.Plans
}

// Plan returns the plans of all platforms: see detect.Detector.Plan. Each platform makes a plan
// for each of the budgets.
func (s *Set) Plan(ctx context.Context, budgets ...float64) (Plans, error) {
	return s.plans(func(p *Platform) (detect.Plans, error) { return p.Detector.Plan(ctx, budgets...) })
}

// Query is a query subscription and its platform.
type Query struct {
	Platform string
	detect.QuerySubscription
}

// PlanFor is Plan for subscriptions and queries that are not polled yet. It ignores queries of
// unknown platforms.
func (s *Set) PlanFor(subs []detect.Subscription, queries []Query, budgets ...float64) (Plans, error) {
	subsOf, queriesOf := map[*Platform][]detect.Subscription{}, map[*Platform][]detect.QuerySubscription{}
	for _, sub := range subs {
		for p, part := range s.parts(sub) {
			subsOf[p] = append(subsOf[p], part)
		}
	}
	for _, q := range queries {
		if p := s.Named(q.Platform); p != nil {
			queriesOf[p] = append(queriesOf[p], q.QuerySubscription)
		}
	}
	return s.plans(func(p *Platform) (detect.Plans, error) {
		return p.Detector.PlanFor(subsOf[p], queriesOf[p], budgets...)
	})
}

func (s *Set) plans(of func(*Platform) (detect.Plans, error)) (all Plans, err error) {
	for i := range s.list {
		p := &s.list[i]
		plans, err := of(p)
		if err != nil {
			return Plans{}, err
		}
		if s.named() {
			if all.ByName == nil {
				all.ByName = make(map[string]detect.Plans, len(s.list))
			}
			all.ByName[p.Name] = plans
		}
		if i == 0 {
			all.Plans = plans
		} else {
			all.Plans = together(all.Plans, plans)
		}
	}
	return all, nil
}

// together returns the sum of two plans. Its Mean is the mean over all accounts. Its P95 and
// LongestInterval are the larger of the two. It has no Other.
func together(a, b detect.Plans) detect.Plans {
	sum := detect.Plans{Accounts: a.Accounts + b.Accounts, Queries: append(append([]detect.PlannedQuery(nil), a.Queries...), b.Queries...)}
	sum.CostPerDay = a.CostPerDay + b.CostPerDay
	sum.Now = detect.Plan{
		Budget: a.Now.Budget + b.Now.Budget, CallsPerMinute: a.Now.CallsPerMinute + b.Now.CallsPerMinute,
		P95: max(a.Now.P95, b.Now.P95), LongestInterval: max(a.Now.LongestInterval, b.Now.LongestInterval),
		Feasible: a.Now.Feasible && b.Now.Feasible, Shortfall: a.Now.Shortfall + b.Now.Shortfall,
	}
	if sum.Accounts > 0 {
		share := float64(b.Accounts) / float64(sum.Accounts)
		sum.Now.Mean = a.Now.Mean + time.Duration(share*float64(b.Now.Mean-a.Now.Mean))
	}
	return sum
}
