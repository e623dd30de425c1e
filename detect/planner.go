package detect

import (
	"slices"
	"time"
)

// planner knows all query subscriptions, and decides for each where its posts
// come from: a search of its own, or the timelines that are polled anyway.
type planner struct {
	turn    chan struct{} // held by the change under way
	bell    chan struct{} // accounts have changed
	subs    map[string]*ruled
	byQuery map[string][]*ruled
	polls   float64 // a second, of all searches
	covered int     // subscriptions whose posts come from timelines
}

// ruled is a query subscription and what has become of it.
type ruled struct {
	sub  QuerySubscription
	from origin
	// behind: the journal has a cursor of its query, which would tell the next
	// process that nothing was read since, if no search goes on from it.
	behind bool
	// read: what was visible then it has got, as far as is known; zero if not.
	read time.Time
	// Until when the processes before have read its query, and its authors'
	// timelines: see readAtStart.
	searchedBefore, timelinesBefore time.Time
}

// got notes that a subscription has got all that was visible at a time.
func (r *ruled) got(until time.Time) {
	if until.After(r.read) {
		r.read = until
	}
}

// origin is where a subscription's posts come from.
type origin uint8

const (
	noOrigin  origin = iota // before Run
	searched                // a search
	timelines               // its authors' timelines
)

func newPlanner() planner {
	return planner{turn: make(chan struct{}, 1), bell: make(chan struct{}, 1),
		subs: map[string]*ruled{}, byQuery: map[string][]*ruled{}}
}

// put notes what a subscription is now, and where its posts come from.
func (p *planner) put(r *ruled, sub QuerySubscription, from origin) {
	p.drop(r)
	r.sub, r.from = sub, from
	p.subs[sub.Source.ID] = r
	p.change(sub.Query, func(list []*ruled) []*ruled { return append(list, r) })
}

// drop takes a subscription out; one that is not in is fine.
func (p *planner) drop(r *ruled) {
	if p.subs[r.sub.Source.ID] != r {
		return
	}
	delete(p.subs, r.sub.Source.ID)
	p.change(r.sub.Query, func(list []*ruled) []*ruled {
		return slices.DeleteFunc(list, func(other *ruled) bool { return other == r })
	})
}

// change changes the list of a query's subscriptions, and with it the sums.
func (p *planner) change(text string, fn func([]*ruled) []*ruled) {
	polls, covered := sums(p.byQuery[text])
	p.polls, p.covered = p.polls-polls, p.covered-covered
	list := fn(p.byQuery[text])
	if p.byQuery[text] = list; len(list) == 0 {
		delete(p.byQuery, text)
	}
	polls, covered = sums(list)
	if p.polls, p.covered = p.polls+polls, p.covered+covered; len(p.byQuery) == 0 {
		p.polls = 0 // what was rounded is forgotten
	}
}

// sums is how many polls a second one query's subscriptions take, and how many
// of them need none.
func sums(list []*ruled) (polls float64, covered int) {
	for _, r := range list {
		switch r.from {
		case timelines:
			covered++
		case searched:
			polls = max(polls, float64(time.Second)/float64(r.sub.every()))
		}
	}
	return polls, covered
}
