package queries

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// NextAt returns when a query is due.
func (s *Targets) NextAt(slot int32) poll.Next {
	q := s.slots[slot]
	next := poll.Next{Wished: q.wished, Hurried: q.again}
	if at, ok := s.Sched.At(slot); ok {
		next.At = at
	}
	return next
}

// Note adds a query's state to a State.
func (s *Targets) Note(slot int32, st *poll.State) {
	q := s.slots[slot]
	st.Since, st.Cold = q.since, q.cold
	st.Search = &poll.SearchState{Unordered: q.unordered, Version: q.version, Limit: q.limit, Shown: q.shown, Rests: s.Pushed.memory()}
	for i := range q.subs {
		sub := &q.subs[i]
		st.Readers = append(st.Readers, poll.ReaderState{Source: sub.Source.Source, Since: sub.Since, From: sub.from, Read: sub.read,
			Fresh: sub.fresh, Covered: sub.covered, Interval: sub.every(), Scheduled: sub.Next != nil, MaxResults: sub.MaxResults})
	}
}

// Adopt adds a query with a hash, a State that Note has made and the ids that it remembers.
// The query is not due, and has no subscribers yet: see Follow.
func Adopt(s *Targets, text string, hash uint64, st *poll.State, set *seen.Set, horizon time.Duration) (slot int32) {
	q := s.queryFor(text, Start{})
	q.hash, q.since, q.cold = hash, st.Since, st.Cold
	q.seen, q.horizon = set, horizon
	if is := st.Search; is != nil {
		q.unordered, q.version, q.limit, q.shown = is.Unordered, is.Version, is.Limit, is.Shown
		s.Pushed = &Pushed{s: s, every: is.Rests}
	}
	poll.Adopt(s.Polls, q.slot, st)
	return q.slot
}

// Follow sets the subscribers of a query to readers that Note has made. match returns the
// terms of a source, and next is the schedule of the sources that have one.
func Follow(s *Targets, slot int32, readers []poll.ReaderState, match func(sourceID string) Terms, next func(time.Time) time.Time) {
	q := s.slots[slot]
	q.subs = q.subs[:0]
	for i := range readers {
		r := &readers[i]
		terms := match(r.Source.ID)
		terms.Source.Source, terms.Query, terms.Since, terms.MaxResults = r.Source, q.text, r.Since, r.MaxResults
		if terms.Interval = r.Interval; r.Scheduled {
			terms.Interval, terms.Every, terms.Next = 0, r.Interval, next
		}
		q.subs = append(q.subs, sub{Terms: terms, from: r.From, read: r.Read, fresh: r.Fresh, covered: r.Covered})
	}
}

// Hurry sets whether a query is polled again at once after the poll under way.
func Hurry(s *Targets, slot int32, hurried bool) { s.slots[slot].again = hurried }

// Memory returns the ids that a query remembers.
func Memory(s *Targets, slot int32) *seen.Set { return s.slots[slot].seen }
