package streamwatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
)

// Plan is a forecast of latency, calls and cost for the active monitors and rules.
type Plan struct {
	detect.Plans
	// CreditsPerDay is the price of all active monitors and rules by Config.Pricing.
	CreditsPerDay billing.Credits
}

// Plan predicts detection latency and upstream calls for the monitors and rules
// as they are, with the reason for each query's, and how other budgets, in calls a second, would change them. Such a
// budget is planned as if it set the pace, with the monitors' intervals as
// bounds, those included that they got by default. While the engine runs, a plan
// goes by how often the accounts have posted; before, every account counts
// alike, with a post a day.
func (e *Engine) Plan(ctx context.Context, budgets ...float64) (Plan, error) {
	var plan Plan
	var subs []detect.Subscription
	err := e.monitors.Each(ctx, func(m monitor.Monitor) error {
		if m.Status == monitor.Active {
			plan.CreditsPerDay += e.Price(m).PerDay
			subs = append(subs, tracker{e}.subscription(m))
		}
		return nil
	})
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: plan: %w", err)
	}
	queries, err := e.planRules(ctx, &plan)
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: plan: %w", err)
	}
	if e.is() == running {
		plan.Plans, err = e.detector.Plan(ctx, budgets...)
	} else {
		plan.Plans, err = e.detector.PlanFor(subs, queries, budgets...)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("streamwatch: %w", notRunning(err))
	}
	return plan, nil
}
