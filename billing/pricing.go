package billing

import "time"

// Price is what a stream costs.
type Price struct {
	PerAccountPerDay Credits // for a monitor; zero for a rule
	PerDay           Credits // in all
	Tier             string  // label, such as "11-50"
}

// Pricing says what things cost. Embedding services bring their own or use
// Presets.
type Pricing interface {
	Monitor(accounts int) Price
	Rule(interval time.Duration) Price
	// Request prices one call by the endpoint's name.
	Request(endpoint string) Credits
}

// Presets is the default price list.
type Presets struct{}

// Monitor prices by the number of accounts: the more, the less for each.
func (Presets) Monitor(accounts int) Price {
	p := Price{PerAccountPerDay: 833 * Credit, Tier: "over 100"}
	switch {
	case accounts <= 10:
		p = Price{PerAccountPerDay: 1667 * Credit, Tier: "1-10"}
	case accounts <= 50:
		p = Price{PerAccountPerDay: 1333 * Credit, Tier: "11-50"}
	case accounts <= 100:
		p = Price{PerAccountPerDay: 1000 * Credit, Tier: "51-100"}
	}
	p.PerDay = p.PerAccountPerDay * Credits(accounts)
	return p
}

// Rule prices by the interval: the shorter, the more.
func (Presets) Rule(interval time.Duration) Price {
	switch {
	case interval <= 500*time.Millisecond:
		return Price{PerDay: 30_000 * Credit, Tier: "≤ 0.5 s"}
	case interval <= 5*time.Second:
		return Price{PerDay: 10_000 * Credit, Tier: "≤ 5 s"}
	case interval <= time.Minute:
		return Price{PerDay: 1_500 * Credit, Tier: "≤ 60 s"}
	case interval <= 10*time.Minute:
		return Price{PerDay: 500 * Credit, Tier: "≤ 600 s"}
	}
	return Price{PerDay: 100 * Credit, Tier: "> 600 s"}
}

// EndpointProduct names the marketplace product endpoint in Pricing.Request.
const EndpointProduct = "marketplace_product"

// Request costs one credit, a marketplace product five.
func (Presets) Request(endpoint string) Credits {
	if endpoint == EndpointProduct {
		return 5 * Credit
	}
	return Credit
}
