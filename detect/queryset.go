package detect

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/interest"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

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
func (s *queryTargets) setQuery(sourceID string, sub *QuerySubscription, start queryStart) {
	had := s.bySub[sourceID]
	var mine *watchedQuery
	if sub != nil {
		mine = s.queryFor(sub.Query, start)
		s.followQuery(mine, *sub, start)
		s.bySub[sourceID] = mine
	} else {
		delete(s.bySub, sourceID)
	}
	if had != nil && had != mine {
		s.leaveQuery(had, sourceID)
	}
}

// queryFor finds or makes a query.
func (s *queryTargets) queryFor(text string, start queryStart) *watchedQuery {
	if q := s.byText[text]; q != nil {
		return q
	}
	q := &watchedQuery{text: text, hash: accounts.Hash(QueryTarget(text)), slot: int32(len(s.slots)), since: start.since, cold: !start.since.IsZero()}
	if n := len(s.free); n > 0 {
		q.slot, s.free = s.free[n-1], s.free[:n-1]
		s.slots[q.slot] = q
	} else {
		s.slots = append(s.slots, q)
	}
	s.byText[text] = q
	s.polls.Restore(q.slot, pollGaps(start.gaps))
	s.d.env.Count.Kinds[poll.Queries].Targets.Add(1)
	return q
}

// followQuery gives a query a subscriber, or renews the one it has.
func (s *queryTargets) followQuery(q *watchedQuery, sub QuerySubscription, start queryStart) {
	i := slices.IndexFunc(q.subs, func(s querySub) bool { return s.Source.ID == sub.Source.ID })
	added := i < 0
	if added {
		q.subs = append(q.subs, querySub{QuerySubscription: sub, source: interest.Source{Source: sub.Source, Match: sub.Match},
			from: start.from, read: start.read, fresh: true})
		if err, told := s.polls.Trouble(q.slot); told {
			s.d.env.OnTrouble(poll.Queries, q.text, sub.Source, err)
		}
	} else {
		had := &q.subs[i]
		same := had.Interval == sub.Interval && had.Every == sub.Every
		had.QuerySubscription, had.source = sub, interest.Source{Source: sub.Source, Match: sub.Match}
		if same {
			return
		}
	}
	switch {
	case q.polled:
		q.again = q.again || added
	case s.polls.Failures(q.slot) > 0: // it is resting
	case added && sub.Interval > 0 && !sub.Spread:
		s.sched.Set(q.slot, s.d.clock())
	default:
		s.planSearch(q, s.d.clock())
	}
}

// planSearch takes a query's next poll after now into the schedule.
func (s *queryTargets) planSearch(q *watchedQuery, now int64) {
	if at := s.nextSearch(q, now); at != never {
		s.sched.Set(q.slot, at)
	} else {
		s.sched.Remove(q.slot)
	}
}

// leaveQuery takes a source from a query, and lets the query go with the last
// of them once no poll of it is under way.
func (s *queryTargets) leaveQuery(q *watchedQuery, sourceID string) {
	q.subs = slices.DeleteFunc(q.subs, func(s querySub) bool { return s.Source.ID == sourceID })
	if len(q.subs) == 0 && !q.polled {
		s.polls.Release(q.slot)
	}
}

// removeQuery ends a source's subscription; r is settled when nothing of it can
// be committed any more.
func (s *queryTargets) removeQuery(r *removal) {
	r.open = 1 + s.polls.AfterCommits(r.settle) // also of those the source has left
	s.setQuery(r.sourceID, nil, queryStart{})
	r.settle()
}

// readFor is until when a query has been read for a source; zero when it was not.
func (s *queryTargets) readFor(text, sourceID string) time.Time {
	if q := s.byText[text]; q != nil {
		for i := range q.subs {
			switch sub := &q.subs[i]; {
			case sub.Source.ID != sourceID:
			case sub.fresh:
				return sub.read
			default:
				return q.since
			}
		}
	}
	return time.Time{}
}

// nextSearch is when a query is due after a moment of the detector's clock: by
// the shortest interval, or the first of the schedules; never when none comes.
func (s *queryTargets) nextSearch(q *watchedQuery, now int64) int64 {
	var next int64 = never
	if iv := q.interval(); iv > 0 {
		next = s.d.gridAfter(now, q.hash, iv)
	}
	wall := s.d.wall(now)
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
// pace, who is due first goes first; where accounts are always due, they take
// turns with queries.
func (s *queryTargets) searchTurn(account, now int64, takesTurns bool) (turn bool, at int64) {
	_, at, ok := s.sched.Next()
	switch {
	case !ok:
		return false, never
	case at > now:
		return false, at
	case account > now:
		return true, at
	case takesTurns:
		return s.turn, at
	}
	return at <= account, at
}
