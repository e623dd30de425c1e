package routing

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// Want holds the terms of a rule: see detect.QuerySubscription.
type Want struct {
	ID      string
	Query   string
	Since   time.Time     // posts published before are not events
	Every   time.Duration // the shortest time between two polls
	Authors []string      // accounts with timelines that can replace the search
}

// Rule holds a rule's terms and state.
type Rule struct {
	Want
	State
}

// Rules holds all rules. It is not safe for concurrent use. The zero value is empty.
type Rules struct {
	byID    map[string]*Rule
	byQuery map[string][]*Rule
	polls   float64 // polls per second of all searches
	covered int     // number of rules that get posts from timelines
}

// Len returns the number of rules.
func (rs *Rules) Len() int { return len(rs.byID) }

// Get returns a rule by its id, nil if there is none.
func (rs *Rules) Get(id string) *Rule { return rs.byID[id] }

// All returns the rules, in no order.
func (rs *Rules) All() iter.Seq[*Rule] { return maps.Values(rs.byID) }

// Of returns the rules with a query. Callers must not change the slice.
func (rs *Rules) Of(query string) []*Rule { return rs.byQuery[query] }

// Polls returns how many polls per second the searches need.
func (rs *Rules) Polls() float64 { return rs.polls }

// Covered returns how many rules get their posts from timelines.
func (rs *Rules) Covered() int { return rs.covered }

// Put sets the terms and the state of a rule. The rule may be new.
func (rs *Rules) Put(r *Rule, want Want, s State) {
	if rs.byID == nil {
		rs.byID, rs.byQuery = map[string]*Rule{}, map[string][]*Rule{}
	}
	rs.drop(r)
	if r.Query != want.Query {
		rs.left(r)
	}
	r.Want, r.State = want, s
	rs.byID[want.ID] = r
	rs.change(want.Query, func(list []*Rule) []*Rule { return append(list, r) })
}

// Drop removes a rule. It does nothing if the rule is not in rs.
func (rs *Rules) Drop(r *Rule) {
	rs.drop(r)
	rs.left(r)
}

// left updates the other rules of r's query after r was removed. Searches for r may have stored a
// cursor: then other rules that use timelines become Behind.
func (rs *Rules) left(r *Rule) {
	for _, other := range rs.byQuery[r.Query] {
		other.Behind = other.Behind || other.Origin == Timelines && (r.Origin == Search || r.Behind)
	}
}

func (rs *Rules) drop(r *Rule) {
	if rs.byID[r.ID] != r {
		return
	}
	delete(rs.byID, r.ID)
	rs.change(r.Query, func(list []*Rule) []*Rule {
		return slices.DeleteFunc(list, func(other *Rule) bool { return other == r })
	})
}

// change applies fn to the list of a query's rules, and updates the sums.
func (rs *Rules) change(text string, fn func([]*Rule) []*Rule) {
	polls, covered := sums(rs.byQuery[text])
	rs.polls, rs.covered = rs.polls-polls, rs.covered-covered
	list := fn(rs.byQuery[text])
	if rs.byQuery[text] = list; len(list) == 0 {
		delete(rs.byQuery, text)
	}
	polls, covered = sums(list)
	rs.polls, rs.covered = rs.polls+polls, rs.covered+covered
}

// sums returns how many polls per second the rules of one query need, and how many of them
// get their posts from timelines.
func sums(list []*Rule) (polls float64, covered int) {
	for _, r := range list {
		switch r.Origin {
		case Timelines:
			covered++
		case Search:
			if r.Elsewhere {
				continue
			}
			polls = max(polls, float64(time.Second)/float64(r.Every))
		}
	}
	return polls, covered
}

// NeedCursor reports whether a rule needs the journal's cursor of a query. A rule that searches
// needs it, and so does a rule that is not routed yet. A rule that is Behind needs it until read
// says that its timelines have been read for it.
func (rs *Rules) NeedCursor(query string, read map[*Rule]bool) bool {
	return slices.ContainsFunc(rs.byQuery[query], func(r *Rule) bool {
		return r.Origin != Timelines || r.Behind && !read[r]
	})
}

// AnyBehind reports whether a rule with this query is Behind.
func (rs *Rules) AnyBehind(query string) bool {
	return slices.ContainsFunc(rs.byQuery[query], func(r *Rule) bool { return r.Behind })
}
