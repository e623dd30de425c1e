package enginehttp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// The price list of rules shows its tiers, with the longest interval of each.
func TestRuleTiers(t *testing.T) {
	w := newWorld(t)
	a := w.do(mine, "GET", social+"/stream/filter-rules-pricing", "")
	want := `"tiers":[` +
		`{"id":1,"tier_label":"≤ 0.5 s","max_interval_seconds":0.5,"credits_per_rule_per_day":30000,"display_order":1},` +
		`{"id":2,"tier_label":"≤ 5 s","max_interval_seconds":5,"credits_per_rule_per_day":10000,"display_order":2},` +
		`{"id":3,"tier_label":"≤ 60 s","max_interval_seconds":60,"credits_per_rule_per_day":1500,"display_order":3},` +
		`{"id":4,"tier_label":"≤ 600 s","max_interval_seconds":600,"credits_per_rule_per_day":500,"display_order":4},` +
		`{"id":5,"tier_label":"> 600 s","max_interval_seconds":86400,"credits_per_rule_per_day":100,"display_order":5}]`
	if !strings.Contains(a.body, want) {
		t.Errorf("%s\nhas no %s", a.body, want)
	}
}

// The tiers of any other price list are found, too.
func TestRuleTiersOfAnotherList(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.engine.Pricing = twoTiers{} })
	a := w.do(mine, "GET", social+"/stream/filter-rules-pricing", "")
	if !strings.Contains(a.body, `"max_interval_seconds":17.25,`) || strings.Count(a.body, `"tier_label"`) != 2 {
		t.Errorf("%s: want two tiers, the first up to 17.25 s", a.body)
	}
}

// Monitors and rules show the engine's prices, by which they are charged, and not
// those of Options.Pricing.
func TestShownPriceIsTheCharged(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.engine.Pricing, s.options.Pricing = hourly{}, billing.Presets{} })
	for _, row := range []struct{ path, want string }{
		{monitors + "/{monitor}", `"estimated_credits_per_day":240,`},
		{rules + "/{rule}", `"credits_per_day":240,`},
		{social + "/stream/filter-rules-pricing", `{"interval_seconds":60,"credits_per_day":240,`},
	} {
		if a := w.do(mine, "GET", row.path, ""); !strings.Contains(a.body, row.want) {
			t.Errorf("%s\nhas no %s", a.body, row.want)
		}
	}
}

type twoTiers struct{ billing.Presets }

func (twoTiers) Rule(interval time.Duration) billing.Price {
	if interval <= 17250*time.Millisecond {
		return billing.Price{PerDay: 2 * billing.Credit, Tier: "fast"}
	}
	return billing.Price{PerDay: billing.Credit, Tier: "slow"}
}

// A monitor shows its price for an hour, to the thousandth of a credit.
func TestMonitorShowsItsHour(t *testing.T) {
	w := newWorld(t)
	a := w.do(mine, "GET", monitors+"/{monitor}", "") // 1,667 a day
	if !strings.Contains(a.body, `"estimated_credits_per_day":1667,"estimated_credits_per_hour":69.459,`) {
		t.Error(a.body)
	}
}

// A 402 has the available balance, the request's own reservation included.
func TestBalanceInA402(t *testing.T) {
	for credits, path := range map[int]string{0: "/v1/account/me", 20: monitors} {
		w := newWorld(t, func(s *setup) { s.engine.Billing, s.engine.Pricing = &billing.MeterConfig{}, hourly{} })
		had, err := w.store.Ports().Ledger.Balance(t.Context(), mine)
		if err != nil {
			t.Fatal(err)
		}
		amount := billing.Credits(credits)*billing.Credit - had.Available
		if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "have", Owner: mine, Amount: amount}); err != nil {
			t.Fatal(err)
		}
		method, body := "GET", ""
		if path == monitors {
			method, body = "POST", `{"name":"n","usernames":["esa"]}`
		}
		if a := w.do(mine, method, path, body); a.status != 402 || !strings.Contains(a.body, fmt.Sprintf(`"credits_balance":%d,`, credits)) {
			t.Errorf("with %d credits: %d %s", credits, a.status, a.body)
		}
	}
}
