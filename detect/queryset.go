package detect

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/due"
)

// searches are a shard's queries. The zero value has none.
type searches struct {
	byText  map[string]*watchedQuery
	bySub   map[string]*watchedQuery // by the id of a source
	slots   []*watchedQuery          // nil where free
	free    []int32
	sched   due.Queue
	polling []*search // polls that have not ended
	turn    bool      // accounts have had the last one, under a budget
}

// queryStart is where the reading of a query begins.
type queryStart struct {
	since time.Time // everything before was dealt with, but for the overlap
	gaps  []Gap
	// The subscriber has got what was visible at read, or does not want it, and
	// has to be read for back to from.
	from, read time.Time
}

// setQuery adds or replaces a source's subscription on its query's shard, and
// takes the source from whatever other query it had; sub is nil on the others.
func (sh *shard) setQuery(sourceID string, sub *QuerySubscription, start queryStart) {
	had := sh.searches.bySub[sourceID]
	var mine *watchedQuery
	if sub != nil {
		mine = sh.queryFor(sub.Query, start)
		sh.followQuery(mine, *sub, start)
		sh.searches.bySub[sourceID] = mine
	} else {
		delete(sh.searches.bySub, sourceID)
	}
	if had != nil && had != mine {
		sh.leaveQuery(had, sourceID)
	}
}

// queryFor finds or makes a query.
func (sh *shard) queryFor(text string, start queryStart) *watchedQuery {
	s := &sh.searches
	if q := s.byText[text]; q != nil {
		return q
	}
	if s.byText == nil {
		s.byText, s.bySub = map[string]*watchedQuery{}, map[string]*watchedQuery{}
	}
	target := QueryTarget(text)
	q := &watchedQuery{text: text, target: target, hash: hashKey(target), slot: int32(len(s.slots)), since: start.since, cold: !start.since.IsZero(), gaps: start.gaps}
	if n := len(s.free); n > 0 {
		q.slot, s.free = s.free[n-1], s.free[:n-1]
		s.slots[q.slot] = q
	} else {
		s.slots = append(s.slots, q)
	}
	s.byText[text] = q
	sh.d.count.queries.Add(1)
	return q
}

// followQuery gives a query a subscriber, or renews the one it has.
func (sh *shard) followQuery(q *watchedQuery, sub QuerySubscription, start queryStart) {
	i := slices.IndexFunc(q.subs, func(s querySub) bool { return s.Source.ID == sub.Source.ID })
	added := i < 0
	if added {
		q.subs = append(q.subs, querySub{QuerySubscription: sub, from: start.from, read: start.read, fresh: true})
		if q.trouble != nil && q.trouble.reported {
			sh.d.cfg.OnTrouble(Trouble{Query: q.text, Source: sub.Source, Err: q.trouble.err})
		}
	} else {
		had := &q.subs[i]
		same := had.Interval == sub.Interval && had.Every == sub.Every
		had.QuerySubscription = sub
		if same {
			return
		}
	}
	switch {
	case q.polling != nil:
		q.again = q.again || added
	case q.trouble != nil: // it is resting
	case added && sub.Interval > 0 && !sub.Spread:
		sh.searches.sched.Set(q.slot, sh.d.clock())
	default:
		sh.planSearch(q, sh.d.clock())
	}
}

// planSearch takes a query's next poll after now into the schedule.
func (sh *shard) planSearch(q *watchedQuery, now int64) {
	if at := sh.nextSearch(q, now); at != never {
		sh.searches.sched.Set(q.slot, at)
	} else {
		sh.searches.sched.Remove(q.slot)
	}
}

// leaveQuery takes a source from a query, and lets the query go with the last
// of them once no poll of it is under way.
func (sh *shard) leaveQuery(q *watchedQuery, sourceID string) {
	q.subs = slices.DeleteFunc(q.subs, func(s querySub) bool { return s.Source.ID == sourceID })
	if len(q.subs) == 0 && q.polling == nil {
		sh.releaseQuery(q)
	}
}

func (sh *shard) releaseQuery(q *watchedQuery) {
	s := &sh.searches
	s.sched.Remove(q.slot)
	s.slots[q.slot] = nil
	s.free = append(s.free, q.slot)
	delete(s.byText, q.text)
	sh.d.count.queries.Add(-1)
}

// removeQuery ends a source's subscription; r is settled when nothing of it can
// be committed any more.
func (sh *shard) removeQuery(r *removal) {
	r.open = 1
	for _, f := range sh.searches.polling { // also those the source has left
		if f.committing {
			r.open++
			f.waiters = append(f.waiters, r)
		}
	}
	sh.setQuery(r.sourceID, nil, queryStart{})
	r.settle()
}

// nextSearch is when a query is due after a moment of the detector's clock: by
// the shortest interval, or the first of the schedules; never when none comes.
func (sh *shard) nextSearch(q *watchedQuery, now int64) int64 {
	var next int64 = never
	if iv := q.interval(); iv > 0 {
		next = sh.d.gridAfter(now, q.hash, iv)
	}
	wall := sh.d.wall(now)
	for i := range q.subs {
		if q.subs[i].Next == nil {
			continue
		}
		if at := q.subs[i].Next(wall); !at.IsZero() {
			next = min(next, now+max(1, int64(at.Sub(wall))))
		}
	}
	return next
}

// searchTurn reports whether a query should be polled now, and when the next
// one is due. account is when the next account is. Where intervals set the
// pace, who is due first goes first; under a budget accounts always are, and
// take turns with what is due.
func (sh *shard) searchTurn(account, now int64) (turn bool, at int64) {
	s := &sh.searches
	if len(s.byText) == 0 {
		return false, never
	}
	_, at, ok := s.sched.Next()
	if !ok {
		return false, never
	}
	if at > now {
		return false, at
	}
	if account > now {
		return true, at
	}
	if sh.sched.TakesTurns() {
		return s.turn, at
	}
	return at <= account, at
}
