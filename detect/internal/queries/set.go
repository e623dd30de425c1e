package queries

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Terms are the terms of a rule for its query.
type Terms struct {
	poll.Source
	Query string // the query's text
	// Interval is the desired time between two polls. Next replaces Interval, if it is set: it
	// returns the first poll time after its argument. Every is the shortest time between two such
	// times.
	Interval   time.Duration
	Next       func(time.Time) time.Time
	Every      time.Duration
	MaxResults int       // highest number of posts read in a poll
	Since      time.Time // posts published before Since are not events
	Spread     bool      // delay the first poll to its offset in the interval
}

// every returns the shortest time between two polls that the rule asks for.
func (t *Terms) every() time.Duration {
	if t.Next != nil {
		return t.Every
	}
	return t.Interval
}

// next returns the first poll time after the given time by the rule's schedule; zero if the rule
// has no schedule.
func (t *Terms) next(after time.Time) time.Time {
	if t.Next == nil {
		return time.Time{}
	}
	return t.Next(after)
}

// Start says where the reading of a query begins.
type Start struct {
	Since time.Time // the query was read up to Since, except for the overlap
	Gaps  []poll.Gap
	// The rule has every post that was visible at Read, or did not want it. The rule's first poll
	// reads back to From.
	From, Read time.Time
}

// Set adds a source's subscription or replaces its present one, and ends its subscription to
// another query. On shards that do not own the query, terms is nil.
func (s *Targets) Set(sourceID string, terms *Terms, start Start) {
	had := s.bySub[sourceID]
	var mine *Query
	if terms != nil {
		mine = s.queryFor(terms.Query, start)
		s.followQuery(mine, *terms, start)
		s.bySub[sourceID] = mine
	} else {
		delete(s.bySub, sourceID)
	}
	if had != nil && had != mine {
		s.leaveQuery(had, sourceID)
	}
}

// queryFor finds or adds a query.
func (s *Targets) queryFor(text string, start Start) *Query {
	if q := s.byText[text]; q != nil {
		return q
	}
	q := &Query{text: text, hash: accounts.Hash(Target(text)), slot: int32(len(s.slots)), since: start.Since, cold: !start.Since.IsZero()}
	if n := len(s.free); n > 0 {
		q.slot, s.free = s.free[n-1], s.free[:n-1]
		s.slots[q.slot] = q
	} else {
		s.slots = append(s.slots, q)
	}
	s.byText[text] = q
	s.Polls.Restore(q.slot, start.Gaps)
	s.env.Count.Kinds[poll.Queries].Targets.Add(1)
	return q
}

// followQuery adds a subscriber to a query, or updates the terms of the source's present
// one.
func (s *Targets) followQuery(q *Query, t Terms, start Start) {
	i := slices.IndexFunc(q.subs, func(s sub) bool { return s.ID == t.ID })
	added := i < 0
	if added {
		t.Since = s.env.Begins(t.Since, start.Since, poll.StampsDiffer)
		q.subs = append(q.subs, sub{Terms: t, from: start.From, read: start.Read, fresh: true})
		q.Watched = true
		if err, reported := q.Trouble(); reported {
			s.Polls.Tell(q.text, t.Source.Source, err)
		}
	} else {
		had := &q.subs[i]
		wall := s.Wall(s.env.Clock())
		same := had.Interval == t.Interval && had.next(wall).Equal(t.next(wall))
		had.Terms = t
		if same {
			return
		}
	}
	switch _, planned := s.Sched.At(q.slot); {
	case q.Polled && (added || !planned): // the end of a search plans the next one; that of a pushed post does not
		q.again = q.again || added
	case q.Failures() > 0: // the query rests after a failure
	case added && t.Interval > 0 && !t.Spread:
		s.Sched.Set(q.slot, s.env.Clock())
	default:
		s.replan(q)
	}
}

// Never is a time after all others.
const Never = int64(1<<63 - 1)

// planSearch schedules a query's next poll after now.
func (s *Targets) planSearch(q *Query, now int64) {
	q.stream.resting = s.Pushed.audits(q) > 0
	if at := s.nextSearch(q, now); at != Never {
		s.Sched.Set(q.slot, at)
	} else {
		s.Sched.Remove(q.slot)
	}
}

// replan schedules a query's next poll again. A poll that is due already stays due.
func (s *Targets) replan(q *Query) {
	now := s.env.Clock()
	if at, ok := s.Sched.At(q.slot); ok && at <= now+int64(time.Millisecond) { // the queue rounds up
		return
	}
	s.planSearch(q, now)
}

// leaveQuery removes a source from a query. A query without subscribers is released when no poll of
// it is under way.
func (s *Targets) leaveQuery(q *Query, sourceID string) {
	q.subs = slices.DeleteFunc(q.subs, func(s sub) bool { return s.ID == sourceID })
	if q.Watched = len(q.subs) > 0; !q.Watched && !q.Polled {
		s.Polls.Release(q.slot)
	}
}

// ReadFor returns the time up to which a query was read for a source; zero if it was not.
func (s *Targets) ReadFor(text, sourceID string) time.Time {
	if q := s.byText[text]; q != nil {
		for i := range q.subs {
			switch sub := &q.subs[i]; {
			case sub.ID != sourceID:
			case sub.fresh:
				return sub.read
			default:
				return q.since
			}
		}
	}
	return time.Time{}
}

// nextSearch returns when a query is due after now, on the detector's clock. Both the shortest
// interval and the schedules count: the earliest time is returned. It returns Never if the query
// has neither.
func (s *Targets) nextSearch(q *Query, now int64) int64 {
	var next int64 = Never
	if iv := max(q.interval(), s.Pushed.audits(q)); iv > 0 {
		next = schedule.GridAfter(s.env.Epoch.UnixNano()+now, q.hash, iv) - s.env.Epoch.UnixNano()
	}
	wall := s.Wall(now)
	for i := range q.subs {
		if at := q.subs[i].next(wall); !at.IsZero() {
			next = min(next, now+max(1, int64(at.Sub(wall))))
		}
	}
	return next
}

// Turn reports whether a query should be polled now, and returns when the next query is due.
// account is when the next account is due. Without takesTurns, the account or query that is due
// first is polled first. takesTurns is set if accounts are always due: accounts and queries then
// take turns.
func (s *Targets) Turn(account, now int64, takesTurns bool) (turn bool, at int64) {
	if at = s.nextAt(now); at > now {
		return false, at
	}
	if s.env.Budget.Buckets.Any() {
		if until := s.env.Budget.Buckets.Until(s.env.Bucket(fetcher.Call{Role: fetcher.RoleSearch})); until > now {
			return false, until
		}
	}
	switch {
	case account > now:
		return true, at
	case takesTurns:
		return s.AccountsHadLast, at
	}
	return at <= account, at
}

// nextAt returns when the next query is due, Never if there is none. While a pushed post of a query
// is committed, the query waits even if it is due.
func (s *Targets) nextAt(now int64) int64 {
	for {
		slot, at, ok := s.Sched.Next()
		switch {
		case !ok:
			return Never
		case at > now || !s.slots[slot].Polled:
			return at
		}
		s.Polls.Late(slot, at)
		s.Sched.Set(slot, now+poll.BusyPause)
	}
}
