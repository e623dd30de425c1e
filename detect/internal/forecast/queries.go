package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rule is a rule whose query is polled.
type Rule struct {
	ID      string
	Query   string
	Every   time.Duration // the shortest time between two polls
	Authors []string      // whose timelines have its posts
	Covered bool          // its posts come from these timelines
}

// Query says how a query's posts are found, and what that costs. It converts to
// detect.PlannedQuery, which explains the fields.
type Query struct {
	Query          string
	Sources        []string
	Every          time.Duration
	CallsPerMinute float64
	Covered        bool
	Authors        []string
	Why            string
}

// Queries sums up rules by where their posts come from, in the order of their
// queries; pages is how many a poll reads in the mean.
func Queries(rules []Rule, pages float64) []Query {
	type place struct {
		query   string
		covered bool
	}
	at := map[place]int{}
	var plan []Query
	for _, r := range rules {
		key := place{r.Query, r.Covered}
		n, ok := at[key]
		if !ok {
			n = len(plan)
			at[key] = n
			plan = append(plan, Query{Query: r.Query, Covered: r.Covered, Every: r.Every})
			if r.Covered {
				plan[n].Authors = r.Authors
			}
		}
		plan[n].Sources = append(plan[n].Sources, r.ID)
		plan[n].Every = min(plan[n].Every, r.Every)
	}
	for i := range plan {
		p := &plan[i]
		slices.Sort(p.Sources)
		switch {
		case p.Covered:
			p.Why = fmt.Sprintf("no search: the timelines of %d accounts have its posts", len(p.Authors))
		case len(p.Sources) == 1:
			p.Why = "a search of its own"
		default:
			p.Why = fmt.Sprintf("one search for %d rules", len(p.Sources))
		}
		if !p.Covered {
			p.CallsPerMinute = pages * float64(time.Minute) / float64(p.Every)
		}
	}
	slices.SortFunc(plan, func(a, b Query) int { return strings.Compare(a.Query, b.Query) })
	return plan
}
