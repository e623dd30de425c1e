package billing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

func TestPresets(t *testing.T) {
	var p billing.Pricing = billing.Presets{}
	for _, row := range []struct {
		accounts           int
		perAccount, perDay billing.Credits // whole credits
		tier               string
	}{
		{1, 1667, 1667, "1-10"},
		{10, 1667, 16670, "1-10"},
		{11, 1333, 14663, "11-50"},
		{50, 1333, 66650, "11-50"},
		{51, 1000, 51000, "51-100"},
		{100, 1000, 100000, "51-100"},
		{101, 833, 84133, "over 100"},
	} {
		got := p.Monitor(row.accounts)
		want := billing.Price{PerAccountPerDay: row.perAccount * billing.Credit, PerDay: row.perDay * billing.Credit, Tier: row.tier}
		if got != want {
			t.Errorf("%d accounts: %+v, want %+v", row.accounts, got, want)
		}
	}
	for _, row := range []struct {
		interval time.Duration
		perDay   billing.Credits
	}{
		{100 * time.Millisecond, 30_000}, {500 * time.Millisecond, 30_000}, {501 * time.Millisecond, 10_000},
		{500*time.Millisecond + 1, 10_000}, {5 * time.Second, 10_000}, {5*time.Second + 1, 1_500}, {6 * time.Second, 1_500}, {time.Minute, 1_500},
		{time.Minute + 1, 500}, {61 * time.Second, 500}, {10 * time.Minute, 500}, {10*time.Minute + 1, 100}, {11 * time.Minute, 100}, {24 * time.Hour, 100},
	} {
		if got := p.Rule(row.interval).PerDay; got != row.perDay*billing.Credit {
			t.Errorf("a rule every %s: %d a day, want %d", row.interval, got, row.perDay*billing.Credit)
		}
	}
	if p.Request("users") != billing.Credit || p.Request(billing.EndpointProduct) != 5*billing.Credit {
		t.Error("a request costs 1 credit, a product 5")
	}
}

func ExamplePresets() {
	price := billing.Presets{}.Monitor(20)
	fmt.Println(price.Tier, price.PerDay/billing.Credit, "credits a day")
	// Output: 11-50 26660 credits a day
}
