package queries

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// GiveUp gives up the queries that are not kept, so that another node may search for
// them: no rule has them any more. It returns cursors, by text, of those of which the
// journal would have the next node read too little: a rule has joined that lacks posts
// from before.
func (s *Targets) GiveUp(kept func(text string) bool) (lacking map[string]*poll.Cursor) {
	lacking = map[string]*poll.Cursor{}
	for text, q := range s.byText {
		if kept(text) {
			continue
		}
		if since, ok := q.lack(s.env.Oldest()); ok {
			lacking[text] = &poll.Cursor{Since: since, Gaps: s.Polls.Gaps(q.slot)}
		}
		for i := range q.subs {
			if id := q.subs[i].ID; s.bySub[id] == q {
				delete(s.bySub, id)
			}
		}
		q.subs = nil
		if q.polled { // what the poll brings is dropped, also if the query comes back meanwhile
			delete(s.byText, text)
		} else {
			s.Polls.Release(q.slot)
		}
	}
	return lacking
}

// lack is from when on those lack posts who are fresh, where that is before the query was
// read.
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
