package streamwatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/rule"
)

// Every node plans for the whole fleet, whatever it polls itself.
func TestFleetPlan(t *testing.T) {
	const accounts = 300
	for _, test := range []struct {
		name   string
		detect detect.Config
		calls  float64 // a minute
		budget float64
	}{
		{"intervals", detect.Config{}, 30 * accounts, 0},
		{"a budget", detect.Config{Pace: detect.PaceBudget, FetchRate: 20}, 20 * 60, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFleetWorld(t, accounts)
				w.tune = func(c *streamwatch.Config) { c.Detect, c.Roles.Search = test.detect, w.platform }
				nodes := w.start("a", "b", "c")
				w.watch(accounts, nodes...)
				pass(15 * time.Second)
				r, err := nodes[0].Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "rockets", Interval: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				pass(15 * time.Second)
				for _, n := range nodes {
					plan, err := n.Plan(t.Context(), 5)
					if err != nil {
						t.Fatal(err)
					}
					calls := test.calls
					if test.budget == 0 {
						calls += 6 // of the rule
					}
					if plan.Accounts != accounts || !near(plan.Now.CallsPerMinute, calls, 0.02) || plan.Now.Budget != test.budget || len(plan.Other) != 1 || len(plan.Queries) != 1 {
						t.Errorf("%s plans for %d accounts, %.1f calls a minute out of %v a second, want %d, %.1f, %v; %d queries", n.name,
							plan.Accounts, plan.Now.CallsPerMinute, plan.Now.Budget, accounts, calls, test.budget, len(plan.Queries))
					}
					st, ok, err := n.Query(t.Context(), r.Rule.Query)
					if err != nil || !ok || st.Node == "" {
						t.Errorf("%s: query %+v, %t, %v: want the node that searches", n.name, st, ok, err)
					}
				}
				for _, n := range nodes {
					n.stop()
				}
			})
		})
	}
}
