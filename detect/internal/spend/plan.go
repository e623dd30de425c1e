package spend

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Expected holds the numbers from which a plan predicts the charges.
type Expected struct {
	Accounts int
	Posts    float64 // per second
	Probed   bool    // all accounts are probed
	Streamed bool    // all posts also come from a stream
}

// PerDay predicts the charges of a platform for a day. Each post is charged once when it is found
// and, if streamed, once more as an event. Each probed account is charged once. Further charges for
// the same thing on that day are not predicted; Spend counts them.
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
