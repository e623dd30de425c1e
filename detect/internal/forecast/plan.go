package forecast

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/internal/pace"
)

// Plan predicts the latency and cost of a way of polling. It converts to detect.Plan. The fields
// are documented there.
type Plan struct {
	Budget          float64
	Mean, P95       time.Duration
	CallsPerMinute  float64
	LongestInterval time.Duration
	Feasible        bool
	Shortfall       float64
}

// Settings are the inputs of a plan besides the accounts.
type Settings struct {
	// Budgeted is true if calls are spent where they find posts earliest, and false if intervals
	// set the pace. With AtLeast and Budgeted, intervals are the shortest times between polls.
	Budgeted, AtLeast bool
	MinBound          time.Duration // if Budgeted, no account is polled more often
	MinInterval       time.Duration // detect.Config's

	Rate   float64 // calls per second, 0 for no limit
	Batch  int     // highest number of accounts in a call
	Shards int
	Pages  float64       // mean number of pages of a poll
	Fetch  time.Duration // mean time of a call
}

// maxRate is the highest budget, in calls per second.
const maxRate = 1e6

// Plans returns the plan for the present settings and one for each of the budgets. searches is how
// many calls per second searches need in addition to polls of accounts.
func (cfg Settings) Plans(groups []pace.Group, searches float64, budgets []float64) (now Plan, other []Plan, err error) {
	total := cfg.Rate
	if total > 0 {
		cfg.Rate = ForAccounts(total, searches)
	}
	accounts := 0
	for _, g := range groups {
		accounts += g.Accounts
	}
	if !cfg.Budgeted {
		now = cfg.intervals(groups, accounts)
	} else if now, err = cfg.budget(groups, accounts, cfg.Rate); err != nil {
		return Plan{}, nil, err
	} else {
		now.Budget = total
	}
	now.CallsPerMinute += 60 * searches
	for i, b := range budgets {
		if !(b > 0 && b <= maxRate) {
			return Plan{}, nil, fmt.Errorf("detect: budgets[%d] %v is not allowed: want more than 0 and at most %g calls a second", i, b, maxRate)
		}
		p, err := cfg.budget(groups, accounts, ForAccounts(b, searches))
		if err != nil {
			return Plan{}, nil, err
		}
		p.Budget = b
		p.CallsPerMinute += 60 * searches
		other = append(other, p)
	}
	return now, other, nil
}

func (cfg Settings) intervals(groups []pace.Group, accounts int) Plan {
	calls := cfg.CallsPerPoll(cfg.Together(float64(accounts)))
	f := pace.Intervals(groups)
	if polls := f.CallsPerMinute / 60; cfg.Rate > 0 && polls*calls > cfg.Rate {
		// With more accounts due at a time, they share calls as far as necessary or possible.
		full := cfg.CallsPerPoll(float64(max(1, min(cfg.Batch, accounts))))
		if calls = max(full, cfg.Rate/polls); calls == full {
			f = pace.IntervalsWithin(groups, cfg.Rate/full)
		}
	}
	return cfg.plan(f, calls)
}

func (cfg Settings) budget(groups []pace.Group, accounts int, budget float64) (Plan, error) {
	bounded := make([]pace.Group, len(groups))
	for i, g := range groups {
		if g.Interval > 0 {
			if bound := max(g.Interval, cfg.MinBound); cfg.AtLeast {
				g.Min = bound
			} else {
				g.Max = bound
			}
		}
		if g.Min = max(g.Min, cfg.MinInterval); g.Max > 0 {
			g.Max = max(g.Max, g.Min)
		}
		bounded[i] = g
	}
	calls := cfg.CallsPerPoll(float64(max(1, min(cfg.Batch, accounts))))
	f, err := pace.Budget(bounded, budget/calls)
	if err != nil {
		return Plan{}, fmt.Errorf("detect: plan for %v calls a second: %w", budget, err)
	}
	plan := cfg.plan(f, calls)
	plan.Budget = budget
	return plan, nil
}

// ForAccounts returns the part of a budget that searches leave to accounts. Searches have priority,
// but accounts keep at least half of the budget.
func ForAccounts(budget, searches float64) float64 { return max(budget-searches, budget/2) }

// Together returns how many accounts share a call when intervals set the pace. An account shares
// its call with those due within the next 1/schedule.LookAhead of its interval.
func (cfg Settings) Together(accounts float64) float64 {
	return min(float64(cfg.Batch), 1+accounts/float64(cfg.Shards*schedule.LookAhead))
}

// CallsPerPoll returns how many calls a poll needs if the given number of accounts share a call for
// their first pages. Each later page needs a call of its own.
func (cfg Settings) CallsPerPoll(together float64) float64 { return 1/together + cfg.Pages - 1 }

func (cfg Settings) plan(f pace.Forecast, calls float64) Plan {
	return Plan{Mean: f.Mean + cfg.Fetch, P95: f.P95 + cfg.Fetch, CallsPerMinute: f.CallsPerMinute * calls,
		LongestInterval: f.LongestInterval, Feasible: f.Feasible, Shortfall: f.Shortfall * calls}
}
