package queries

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// GiveUp gives up to another node the queries for which kept returns false. No rule here has them
// any more. It returns cursors to store, by text. They replace stored cursors from which the next
// node would read too little: a rule that has joined the query lacks earlier posts.
func (s *Targets) GiveUp(kept func(text string) bool) (lacking map[string]*poll.Cursor) {
	lacking = map[string]*poll.Cursor{}
	for text, q := range s.byText {
		if kept(text) {
			continue
		}
		if since, ok := q.lack(s.env.Oldest()); ok {
			lacking[text] = &poll.Cursor{Since: since, Gaps: q.Gaps()}
		}
		for i := range q.subs {
			if id := q.subs[i].ID; s.bySub[id] == q {
				delete(s.bySub, id)
			}
		}
		q.subs, q.Watched = nil, false
		if q.Polled { // its posts are dropped, even if the query returns during the poll
			delete(s.byText, text)
		} else {
			s.Polls.Release(q.slot)
		}
	}
	return lacking
}

// Behind returns the cursor to store for a rule's query, by slot. It is nil if there is none: see
// accounts.Targets.Behind.
func (s *Targets) Behind(sourceID string) map[int32]*poll.Cursor {
	q := s.bySub[sourceID]
	if q == nil {
		return nil
	}
	enough := q.since.Add(-s.env.Late.Least())
	for i := range q.subs {
		sub := &q.subs[i]
		if sub.ID == sourceID && sub.fresh && !q.since.IsZero() && latest(sub.read, s.env.Oldest()).Before(enough) {
			return map[int32]*poll.Cursor{q.slot: {Since: s.Resume(q.slot), Gaps: q.Gaps()}}
		}
	}
	return nil
}

// Resume returns when the last complete poll of a query began. If a fresh subscriber lacks earlier
// posts, it returns the time from which they are lacking.
func (s *Targets) Resume(slot int32) time.Time {
	q := s.slots[slot]
	if since, ok := q.lack(s.env.Oldest()); ok && since.Before(q.since) {
		return since
	}
	return q.since
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// lack returns the earliest time since which a fresh subscriber lacks posts. ok is false if none
// lacks posts from before the last complete poll.
func (q *Query) lack(oldest time.Time) (since time.Time, ok bool) {
	since = q.since
	for i := range q.subs {
		if sub := &q.subs[i]; sub.fresh && sub.read.Before(since) {
			since, ok = sub.read, true
		}
	}
	if since.Before(oldest) {
		since = oldest
	}
	return since, ok
}
