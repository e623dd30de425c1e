package streamwatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/detect/pace"
	"github.com/streamwatch/streamwatch/monitor"
)

// Plan predicts what the active monitors will bring and cost, before anything
// is spent.
type Plan struct {
	detect.Plans
	// CreditsPerDay is the price of all active monitors by Config.Pricing.
	CreditsPerDay billing.Credits
}

// Plan predicts detection latency and upstream calls for the monitors as they
// are, and how other budgets, in calls a second, would change them. While the
// engine runs it goes by how often the accounts have posted; before, every
// account counts alike, with a post a day.
func (e *Engine) Plan(ctx context.Context, budgets ...float64) (Plan, error) {
	var plan Plan
	accounts := map[string]*pace.Group{}
	err := e.monitors.Each(ctx, func(m monitor.Monitor) error {
		if m.Status != monitor.Active {
			return nil
		}
		plan.CreditsPerDay += e.Price(m).PerDay
		sub := e.subscription(m)
		for _, a := range sub.Accounts {
			g := accounts[monitor.Key(a.Username)]
			if g == nil {
				g = &pace.Group{Accounts: 1, Rate: detect.UnknownRate}
				accounts[monitor.Key(a.Username)] = g
			}
			if g.Weight += sub.Weight; sub.Weight == 0 {
				g.Weight++
			}
			if sub.Interval > 0 && (g.Interval == 0 || sub.Interval < g.Interval) {
				g.Interval = sub.Interval
			}
		}
		return nil
	})
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: plan: %w", err)
	}
	if e.runs() {
		plan.Plans, err = e.detector.Plan(ctx, budgets...)
	} else {
		groups := make([]pace.Group, 0, len(accounts))
		for _, g := range accounts {
			groups = append(groups, *g)
		}
		plan.Plans, err = e.detector.PlanFor(groups, budgets...)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: %w", err)
	}
	return plan, nil
}
