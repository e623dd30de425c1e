package spend

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Expected is what a plan knows of what will be billed.
type Expected struct {
	Accounts int
	Posts    float64 // a second
	Probed   bool    // all accounts are probed
	Streamed bool    // all posts are pushed as well
}

// PerDay returns what a platform charges for a day: for each post once as it is found, once
// more where it is pushed as an event, and once for each account that is probed. What is
// charged for the same thing again on that day is not foreseen; Spend counts it.
func PerDay(p fetcher.Prices, e Expected) float64 {
	perDay := e.Posts * (24 * time.Hour).Seconds()
	cost := perDay * p.Post
	if e.Streamed {
		cost += perDay * p.Event
	}
	if e.Probed {
		cost += float64(e.Accounts) * p.User
	}
	return cost
}
