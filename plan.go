package streamwatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/platforms"
	"github.com/streamwatch/streamwatch/monitor"
)

// Plan is a forecast of latency, calls and cost for the active monitors and rules.
type Plan struct {
	detect.Plans
	// Sources has the plan of each source by name; the name of Config.Fetcher is "". It is nil
	// without Config.Sources. Plans combines all sources: its Mean is the mean over all accounts,
	// and with several sources its Other is empty.
	Sources map[string]detect.Plans
	// CreditsPerDay is the price per day of all active monitors and rules, by Config.Pricing.
	CreditsPerDay billing.Credits
}

// Plan predicts detection latency and upstream calls for the active monitors and rules, and reports
// how each query is polled and why. budgets are other budgets to compare, in calls a second. Each
// is planned as if it set the pace and the monitors' intervals, including default ones, were upper
// limits. While the engine runs, the plan uses the rates at which the accounts have posted; before
// Start it assumes one post a day for each. After Shutdown it returns ErrNotRunning.
func (e *Engine) Plan(ctx context.Context, budgets ...float64) (Plan, error) {
	if e.life.current() == ended {
		return Plan{}, ErrNotRunning
	}
	var plan Plan
	var subs []detect.Subscription
	err := e.monitors.Each(ctx, func(m monitor.Monitor) error {
		if m.Status == monitor.Active {
			plan.CreditsPerDay += e.Price(m).PerDay
			subs = append(subs, detect.ForMonitor(m))
		}
		return nil
	})
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: plan: %w", err)
	}
	queries, err := planRules(ctx, e, &plan)
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: plan: %w", err)
	}
	var plans platforms.Plans
	if e.life.current() == running {
		plans, err = e.platforms.Plan(ctx, budgets...)
	} else {
		plans, err = e.platforms.PlanFor(subs, queries, budgets...)
	}
	plan.Plans, plan.Sources = plans.Plans, plans.ByName
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: %w", notRunning(err))
	}
	return plan, nil
}
