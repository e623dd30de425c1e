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

// PlannedQuery says how a query's posts are found, and what that costs.
type PlannedQuery struct {
	Query   string
	Sources []string // ids of the rules with this query, sorted
	// Every is the time between two polls, for a schedule the shortest.
	Every time.Duration
	// CallsPerMinute is 0 when Covered.
	CallsPerMinute float64
	// Covered: the polls of Authors' timelines bring the posts.
	Covered bool
	Authors []string
	Why     string // in words
}

// queries sums up rules by query; see forecast.Queries.
func (p planner) queries(rules []forecast.Rule) []PlannedQuery {
	var plan []PlannedQuery
	for _, q := range forecast.Queries(rules, p.pagesPer(poll.Queries)) {
		plan = append(plan, PlannedQuery(q))
	}
	return plan
}

// plannedRule returns a rule in the form of package forecast.
func plannedRule(w routing.Want, covered bool) forecast.Rule {
	return forecast.Rule{ID: w.ID, Query: w.Query, Every: w.Every, Authors: w.Authors, Covered: covered}
}

// queriesFor plans for subscriptions that nobody polls yet.
func (p planner) queriesFor(queries []QuerySubscription, bound func(account string) time.Duration) []PlannedQuery {
	rules := make([]forecast.Rule, 0, len(queries))
	for i := range queries {
		rules = append(rules, plannedRule(queries[i].want(), p.d.covers(&queries[i], bound)))
	}
	return p.queries(rules)
}

// callsASecond returns how many calls a second searches take.
func callsASecond(plan []PlannedQuery) (sum float64) {
	for i := range plan {
		sum += plan[i].CallsPerMinute / 60
	}
	return sum
}

// QueryStatus tells how one query is doing.
type QueryStatus struct {
	Query   string
	Sources int // rules with this query
	// Covered is how many of these rules get their posts from the polls of Authors'
	// timelines: see Detector.Account. The fields below are of the search that the other
	// rules share, and zero without one.
	Covered int
	Authors []string

	LastPoll    time.Time // beginning of the last complete poll
	LastContact time.Time // when the upstream last returned a page of it
	LastPost    time.Time // publication of the newest post seen
	NextPoll    time.Time // when it is due; zero while it is being polled
	Interval    time.Duration

	Failures int    // polls and commits that failed in a row
	Err      error  `json:"-"` // of the last of these: see AccountStatus.Err
	Error    string // its text
	Gaps     []Gap  // open ranges

	// Elsewhere: another node of a fleet searches. Then LastPoll and Gaps come from the
	// journal, and all else that follows from polls is zero.
	Elsewhere bool
	Part      fleet.Part // of the query
	Node      string     // as in AccountStatus
}

// Query returns the status of a query, by its text as in QuerySubscription.Query; ok is
// false when no rule has it. It waits for Run to begin.
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

// queryShard returns the shard that owns a query, by its QueryTarget.
func (d *Detector) queryShard(target string) *shards.Shard {
	return d.shards[accounts.Hash(target)%uint64(len(d.shards))]
}
