package detect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PlannedQuery says how a query's posts are found, and what that costs.
type PlannedQuery struct {
	Query   string
	Sources []string // ids of the rules that have it, sorted
	// Every is the time between two polls, of schedules at their busiest.
	Every time.Duration
	// CallsPerMinute is 0 when Covered.
	CallsPerMinute float64
	// Covered: the polls of Authors' timelines bring the posts.
	Covered bool
	Authors []string
	Why     string // in words
}

// planQueries sums up subscriptions with their origins, in the order of the
// queries; pages is how many a poll reads in the mean.
func planQueries(list []ruled, pages float64) []PlannedQuery {
	type place struct {
		query   string
		covered bool
	}
	at := map[place]int{}
	var plan []PlannedQuery
	for i := range list {
		sub := &list[i].sub
		key := place{sub.Query, list[i].from == timelines}
		n, ok := at[key]
		if !ok {
			n = len(plan)
			at[key] = n
			plan = append(plan, PlannedQuery{Query: sub.Query, Covered: key.covered, Every: sub.every()})
			if key.covered {
				plan[n].Authors = sub.Authors
			}
		}
		plan[n].Sources = append(plan[n].Sources, sub.Source.ID)
		plan[n].Every = min(plan[n].Every, sub.every())
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
	slices.SortFunc(plan, func(a, b PlannedQuery) int { return strings.Compare(a.Query, b.Query) })
	return plan
}

// planRules is planQueries as things are.
func (d *Detector) planRules(ctx context.Context) ([]PlannedQuery, error) {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return planQueries(d.rules.list(), d.pagesPerSearch()), nil
}

// planRulesFor is planQueries for subscriptions that nobody polls yet.
func (d *Detector) planRulesFor(queries []QuerySubscription, bound func(account string) time.Duration) []PlannedQuery {
	list := make([]ruled, len(queries))
	for i := range queries {
		list[i] = ruled{sub: queries[i], from: searched}
		if d.cfg.covers(&queries[i], bound) {
			list[i].from = timelines
		}
	}
	return planQueries(list, d.pagesPerSearch())
}

func (p *planner) list() []ruled {
	list := make([]ruled, 0, len(p.subs))
	for _, r := range p.subs {
		list = append(list, *r)
	}
	return list
}

// pagesPerSearch is how many pages a poll of a query has read in the mean.
func (d *Detector) pagesPerSearch() float64 {
	polls := d.count.queryPolls.Load() - d.count.queryErrors.Load()
	if polls <= 0 {
		return 1
	}
	return max(1, float64(d.count.queryPages.Load())/float64(polls))
}

// callsASecond is what searches take.
func callsASecond(plan []PlannedQuery) (sum float64) {
	for i := range plan {
		sum += plan[i].CallsPerMinute / 60
	}
	return sum
}

// QueryStatus tells how one query is doing.
type QueryStatus struct {
	Query   string
	Sources int // rules that have it
	// Covered rules among Sources get their posts from the polls of Authors'
	// timelines: see Detector.Account for these. The fields below are of the
	// search that the others share, and zero without any.
	Covered int
	Authors []string

	LastPoll    time.Time // begin of the last complete poll
	LastContact time.Time // when the upstream last gave a page of it
	LastPost    time.Time // publication of the newest post seen
	NextPoll    time.Time // when it is due; zero while it is being polled
	Interval    time.Duration

	Failures int    // polls and commits that failed in a row
	Err      error  `json:"-"` // of the last of them
	Error    string // its text
	Gaps     []Gap  // open ranges
}

// Query tells how a query is doing, by its text as in QuerySubscription.Query;
// ok is false when nobody has it. It waits for Run to begin.
func (d *Detector) Query(ctx context.Context, text string) (st QueryStatus, ok bool, err error) {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return QueryStatus{}, false, err
	}
	defer unlock()
	found := QueryStatus{Query: text}
	for _, r := range d.rules.byQuery[text] {
		found.Sources++
		if r.from == timelines {
			found.Covered++
			found.Authors = r.sub.Authors
		}
	}
	if found.Sources == 0 {
		return QueryStatus{}, false, nil
	}
	err = d.ask(ctx, d.queryShard(text), func(sh *shard) {
		if q := sh.searches.byText[text]; q != nil {
			sh.queryStatus(q, &found)
		}
	})
	if err != nil {
		return QueryStatus{}, false, err
	}
	return found, true, nil
}

func (sh *shard) queryStatus(q *watchedQuery, st *QueryStatus) {
	st.LastPoll, st.LastContact, st.LastPost, st.Interval = q.since, q.lastContact, q.lastPost, q.every()
	st.Gaps = slices.Clone(q.gaps)
	if tr := q.trouble; tr != nil {
		st.Failures, st.Err = tr.failures, tr.err
		if tr.err != nil {
			st.Error = tr.err.Error()
		}
	}
	if at, ok := sh.searches.sched.At(q.slot); ok {
		st.NextPoll = sh.d.wall(at)
	}
}

// queryShard is the shard that owns a query.
func (d *Detector) queryShard(text string) *shard {
	return d.shards[hashKey(QueryTarget(text))%uint64(len(d.shards))]
}
