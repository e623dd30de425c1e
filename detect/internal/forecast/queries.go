package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rule is a rule with a polled query.
type Rule struct {
	ID      string
	Query   string
	Every   time.Duration // the shortest time between two polls
	Authors []string      // accounts that together publish all its posts
	Covered bool          // its posts come from the timelines of Authors
}

// Query says how the posts of a query are found, and at how many calls. It converts to
// detect.PlannedQuery. The fields are documented there.
type Query struct {
	Query          string
	Sources        []string
	Every          time.Duration
	CallsPerMinute float64
	Covered        bool
	Authors        []string
	Why            string
}

// Queries combines rules that share both the query and the origin of posts. The result is ordered
// by query. pages is the mean number of pages of a poll.
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
