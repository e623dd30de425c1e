package billing

import "time"

// Price is the price of a stream.
type Price struct {
	PerAccountPerDay Credits // for a monitor; zero for a rule
	PerDay           Credits // for the whole stream
	Tier             string  // label, such as "11-50"
}

// Pricing is a price list. Presets is the default one.
type Pricing interface {
	// Monitor returns the price of a monitor with this number of accounts.
	Monitor(accounts int) Price
	// Rule returns the price of a rule that is polled at this interval.
	Rule(interval time.Duration) Price
	// Request returns the price of one call of the HTTP endpoint with this name.
	Request(endpoint string) Credits
}

// Presets is the default price list.
type Presets struct{}

// Monitor returns a price by the number of accounts. With more accounts, each account costs less.
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

// Rule returns a price by the interval: a shorter interval costs more.
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

// EndpointProduct is the name of the marketplace product endpoint for Pricing.Request.
const EndpointProduct = "marketplace_product"

// Request returns five credits for EndpointProduct and one for any other endpoint.
func (Presets) Request(endpoint string) Credits {
	if endpoint == EndpointProduct {
		return 5 * Credit
	}
	return Credit
}
