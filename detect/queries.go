package detect

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/forecast"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/routing"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/fleet"
)

// PlannedQuery says how the posts of a query are found, and at how many calls.
type PlannedQuery struct {
	Query   string
	Sources []string // ids of the rules with this query, sorted
	// Every is the time between two polls; with a schedule, the shortest such time.
	Every time.Duration
	// CallsPerMinute is 0 if Covered is true.
	CallsPerMinute float64
	// Covered is true if the posts come from polls of Authors' timelines.
	Covered bool
	Authors []string
	Why     string // the reason, as text
}

// queries combines rules by query; see forecast.Queries.
func (p planner) queries(rules []forecast.Rule) []PlannedQuery {
	var plan []PlannedQuery
	for _, q := range forecast.Queries(rules, p.pagesPer(poll.Queries)) {
		plan = append(plan, PlannedQuery(q))
	}
	return plan
}

// plannedRule converts a rule to the form used by package forecast.
func plannedRule(w routing.Want, covered bool) forecast.Rule {
	return forecast.Rule{ID: w.ID, Query: w.Query, Every: w.Every, Authors: w.Authors, Covered: covered}
}

// queriesFor plans the queries of subscriptions that nobody polls yet.
func (p planner) queriesFor(queries []QuerySubscription, bound func(account string) time.Duration) []PlannedQuery {
	rules := make([]forecast.Rule, 0, len(queries))
	for i := range queries {
		rules = append(rules, plannedRule(queries[i].want(), p.d.covers(&queries[i], bound)))
	}
	return p.queries(rules)
}

// callsASecond returns how many calls per second the searches of a plan need.
func callsASecond(plan []PlannedQuery) (sum float64) {
	for i := range plan {
		sum += plan[i].CallsPerMinute / 60
	}
	return sum
}

// QueryStatus is the status of one query.
type QueryStatus struct {
	Query   string
	Sources int // rules with this query
	// Covered is how many of the query's rules get their posts from polls of Authors' timelines:
	// see Detector.Account. The other rules share a search. The fields below describe that search;
	// they are zero if there is none.
	Covered int
	Authors []string

	LastPoll    time.Time // start of the last complete poll
	LastContact time.Time // when the upstream last returned a page of the query
	LastPost    time.Time // publication time of the newest post seen
	NextPoll    time.Time // when the next poll is due; zero during a poll
	Interval    time.Duration

	Failures int    // consecutive polls and commits that failed
	Err      error  `json:"-"` // of the last failure: see AccountStatus.Err
	Error    string // the text of Err
	Gaps     []Gap  // open ranges

	// Elsewhere is true if another node of a fleet makes the search. LastPoll and Gaps then come
	// from the journal, and all other results of polls are zero.
	Elsewhere bool
	Part      fleet.Part // the query's part
	Node      string     // see AccountStatus.Node
}

// Query returns the status of the query with this text: see QuerySubscription.Query. ok is false if
// no rule has the query. Query waits until Run has begun.
func (d *Detector) Query(ctx context.Context, text string) (st QueryStatus, ok bool, err error) {
	unlock, err := d.router.lock(ctx)
	if err != nil {
		return QueryStatus{}, false, err
	}
	defer unlock()
	found, shortest := QueryStatus{Query: text, Part: d.sharing.share.OfQuery(text)}, time.Duration(0)
	for _, rule := range d.router.rules.Of(text) {
		found.Sources++
		found.Elsewhere = rule.Elsewhere
		if rule.Origin == routing.Search && (shortest == 0 || rule.Every < shortest) {
			shortest = rule.Every
		}
		if rule.Origin == routing.Timelines {
			found.Covered++
			found.Authors = rule.Authors
		}
	}
	if found.Sources == 0 {
		return QueryStatus{}, false, nil
	}
	if found.Elsewhere && found.Covered < found.Sources {
		c, err := d.router.cursorOf(ctx, QueryTarget(text))
		found.LastPoll, found.Gaps, found.Interval = c.Since, gapsAs[Gap](c.Gaps), shortest
		return found, err == nil, err
	}
	err = d.queryShard(QueryTarget(text)).Ask(ctx, func(sh *shards.Shard) {
		st := sh.Queries.Status(text)
		found.LastPoll, found.LastContact, found.LastPost, found.NextPoll = st.Since, st.Contact, st.LastPost, st.NextPoll
		found.Interval, found.Failures, found.Err, found.Gaps = st.Every, st.Failures, st.Err, gapsAs[Gap](st.Gaps)
		if st.Err != nil {
			found.Error = st.Err.Error()
		}
	})
	if err != nil {
		return QueryStatus{}, false, err
	}
	return found, true, nil
}

// queryShard returns the shard that owns the query with this QueryTarget.
func (d *Detector) queryShard(target string) *shards.Shard {
	return d.shards[accounts.Hash(target)%uint64(len(d.shards))]
}
