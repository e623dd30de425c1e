package enginehttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// hourly has prices a day that make 10 credits an hour for each account of a monitor,
// and 600 credits an hour divided by the seconds of the interval for a rule.
type hourly struct{ billing.Presets }

func (hourly) Monitor(accounts int) billing.Price {
	return billing.Price{PerDay: 240 * billing.Credit * billing.Credits(accounts)}
}

func (hourly) Rule(interval time.Duration) billing.Price {
	return billing.Price{PerDay: 240 * 60 * billing.Credit / billing.Credits(max(1, interval/time.Second))}
}

// Credits have to cover the next hour of all active monitors and rules, with the one
// that a request creates, resumes or makes dearer. A change that raises no price is
// not checked. A refused request changes nothing and costs nothing.
func TestCreditsHaveToCoverTheNextHour(t *testing.T) {
	// The world's monitor has one account, its rule an interval of 60 s: 10 credits
	// an hour each.
	paused := func(path string) func(*world) {
		return func(w *world) { w.do(mine, "PATCH", path, `{"status":"paused"}`) }
	}
	oneMonitor, oneRule := monitors+"/{monitor}", rules+"/{rule}"
	for _, row := range []struct {
		name         string
		credits      int // when the request comes; it costs one of them itself
		prepare      func(*world)
		method, path string
		body         string
		status       int
	}{
		{"a monitor that is covered", 41, nil, "POST", monitors, `{"name":"n","usernames":["esa","jaxa"]}`, 201},
		{"a monitor that is not", 40, nil, "POST", monitors, `{"name":"n","usernames":["esa","jaxa"]}`, 402},
		{"an account named twice counts once", 31, nil, "POST", monitors, `{"name":"n","usernames":["esa","@ESA"]}`, 201},
		{"a monitor with one account more", 30, nil, "PATCH", oneMonitor, `{"usernames":["nasa","esa"]}`, 402},
		{"one account more, covered", 31, nil, "PATCH", oneMonitor, `{"usernames":["nasa","esa"]}`, 200},
		{"as many accounts", 1, nil, "PATCH", oneMonitor, `{"usernames":["esa"]}`, 200},
		{"another name", 1, nil, "PATCH", oneMonitor, `{"name":"moon"}`, 200},
		{"a monitor is paused", 1, nil, "PATCH", oneMonitor, `{"status":"paused"}`, 200},
		{"a monitor that runs is told to run", 1, nil, "PATCH", oneMonitor, `{"status":"active"}`, 200},
		{"a paused monitor goes on", 20, paused(oneMonitor), "PATCH", oneMonitor, `{"status":"active"}`, 402},
		{"a paused monitor goes on, covered", 21, paused(oneMonitor), "PATCH", oneMonitor, `{"status":"active"}`, 200},
		{"a paused monitor with more accounts stays paused", 1, paused(oneMonitor), "PATCH", oneMonitor, `{"usernames":["nasa","esa"]}`, 200},
		{"a paused monitor goes on with more", 30, paused(oneMonitor), "PATCH", oneMonitor, `{"usernames":["nasa","esa"],"status":"active"}`, 402},
		{"an unknown monitor goes on", 1, nil, "PATCH", monitors + "/mon_unknown", `{"status":"active"}`, 404},

		{"a rule that is covered", 81, nil, "POST", rules, `{"tag":"t","query":"from:nasa","interval_seconds":10}`, 201},
		{"a rule that is not", 80, nil, "POST", rules, `{"tag":"t","query":"from:nasa","interval_seconds":10}`, 402},
		{"a rule by a schedule", 30, nil, "POST", rules, `{"tag":"t","query":"from:nasa","schedule":"* * * * *"}`, 402},
		{"a rule by a schedule, covered", 31, nil, "POST", rules, `{"tag":"t","query":"from:nasa","schedule":"* * * * *"}`, 201},
		{"a shorter interval", 70, nil, "PATCH", oneRule, `{"interval_seconds":10}`, 402},
		{"a shorter interval, covered", 71, nil, "PATCH", oneRule, `{"interval_seconds":10}`, 200},
		{"a longer interval", 1, nil, "PATCH", oneRule, `{"interval_seconds":600}`, 200},
		{"a schedule that is no dearer", 1, nil, "PATCH", oneRule, `{"schedule":"*/5 * * * *"}`, 200},
		{"another tag", 1, nil, "PATCH", oneRule, `{"tag":"mars"}`, 200},
		{"a paused rule goes on", 20, paused(oneRule), "PATCH", oneRule, `{"status":"active"}`, 402},
		{"a paused rule goes on, covered", 21, paused(oneRule), "PATCH", oneRule, `{"status":"active"}`, 200},
		{"a paused rule at a shorter interval stays paused", 1, paused(oneRule), "PATCH", oneRule, `{"interval_seconds":10}`, 200},
		{"what is paused is not counted", 21, paused(oneRule), "POST", monitors, `{"name":"n","usernames":["esa"]}`, 201},
		{"an unknown rule goes on", 1, nil, "PATCH", rules + "/rul_unknown", `{"status":"active"}`, 404},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, func(s *setup) {
				s.engine.Billing, s.engine.Pricing = &billing.MeterConfig{}, hourly{}
			})
			if row.prepare != nil {
				row.prepare(w)
			}
			have := billing.Credits(row.credits) * billing.Credit
			had, err := w.store.Ports().Ledger.Balance(t.Context(), mine)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "have", Owner: mine, Kind: billing.KindTopUp, Amount: have - had.Available}); err != nil {
				t.Fatal(err)
			}
			before := w.state()
			a := w.do(mine, row.method, row.path, row.body)
			if a.status != row.status {
				t.Fatalf("%d %s, want %d", a.status, a.body, row.status)
			}
			b, err := w.store.Ports().Ledger.Balance(t.Context(), mine)
			if err != nil {
				t.Fatal(err)
			}
			if row.status == 402 {
				if !strings.Contains(a.body, "does not cover the next hour") {
					t.Errorf("%s: want it to say what is not covered", a.body)
				}
				if after := w.state(); after != before {
					t.Errorf("changed by what was refused:\n%s\n%s", before, after)
				}
			}
			if charged := have - b.Available; (charged == billing.Credit) != (row.status < 300) || b.Reserved != 0 {
				t.Errorf("charged %d, reserved %d for a %d", charged, b.Reserved, a.status)
			}
		})
	}
}

// state shows the owner's monitors and rules.
func (w *world) state() string {
	w.Helper()
	ms, err := w.engine.Monitors().Page(w.Context(), monitor.Query{Owner: mine})
	if err != nil {
		w.Fatal(err)
	}
	rs, err := w.engine.Rules().Page(w.Context(), rule.Query{Owner: mine})
	if err != nil {
		w.Fatal(err)
	}
	return fmt.Sprintf("%+v %+v", ms, rs)
}

// Without Config.Billing monitors and rules cost nothing, and none is refused.
func TestStreamsThatCostNothingAreCovered(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.engine.Pricing, s.options.Pricing = hourly{}, freeAccount{} })
	if a := w.do(mine, "POST", monitors, `{"name":"n","usernames":["esa"]}`); a.status != http.StatusCreated {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// An argument that a provider refuses is a 422 with what it allows.
func TestArgumentThatAProviderDoesNotTake(t *testing.T) {
	p := &providers{err: fmt.Errorf("shopee: %w", &fetcher.ArgumentError{Field: "market", Value: "xx", Allowed: "my, sg, th"})}
	w := newWorld(t, func(s *setup) { s.options.Providers = p.all() })
	a := w.do(mine, "GET", "/v1/marketplace/products/3/4?market=xx", "")
	if spent, _ := w.spent(mine); a.status != 422 || spent != 0 || !strings.Contains(a.body, `market \"xx\" is not allowed: want my, sg, th`) {
		t.Errorf("%d %s, charged %d: want 422, the field and what is allowed", a.status, a.body, spent)
	}
}
