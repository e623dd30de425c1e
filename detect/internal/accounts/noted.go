package accounts

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// NextAt returns when an account is due.
func (a *Targets) NextAt(slot int32) poll.Next {
	next := poll.Next{Hurried: a.At(slot).Is(Again)}
	if at, ok := a.Sched.At(slot); ok {
		next.At = at
	}
	return next
}

// Note adds an account's state to a State.
func (a *Targets) Note(slot int32, s *poll.State) {
	t := a.Table.At(slot)
	s.Since, s.Cold, s.UserID = t.Since.Time(), t.Is(Cold), a.UserID(slot)
	s.Readers = slices.Grow(s.Readers, a.subscribers(slot))
	a.Each(slot, func(sub Subscriber, src *Source, since time.Time) {
		w := &a.wants.list[sub.want]
		s.Readers = append(s.Readers, poll.ReaderState{Source: src.Source.Source, Since: since, From: w.from,
			Read: src.read, Resumes: src.resumes, Fresh: sub.Fresh, Interval: w.interval})
	})
}

// Adopt adds an account with a State that Note has made and a window of seen posts. The
// account is not due, and has no subscribers yet: see Follow.
func Adopt(a *Targets, username string, s *poll.State, w seen.Window) (slot int32) {
	slot = a.Table.Add(username)
	t := a.Table.At(slot)
	t.Since = ToSeconds(s.Since)
	t.Set(Cold, s.Cold)
	a.SetUserID(slot, s.UserID)
	a.Shown.SetWindow(slot, w)
	poll.Adopt(a.Polls, slot, s)
	a.env.Count.Kinds[poll.Accounts].Targets.Add(1)
	return slot
}

// Follow sets the subscribers of an account to readers that Note has made. match returns
// the terms of a source.
func Follow(a *Targets, slot int32, readers []poll.ReaderState, match func(sourceID string) Terms) {
	var had []*Source
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) { had = append(had, src) })
	was := map[string]bool{} // by source, whether the poll under way covers it
	a.change(slot, func(s Subscriber) Subscriber {
		was[a.wants.list[s.want].source.ID] = s.covered
		return s
	})
	for _, src := range had {
		a.Table.Unsubscribe(slot, src)
		delete(a.sources, src.ID)
	}
	fresh := map[string]bool{}
	for i := range readers {
		r := &readers[i]
		terms := match(r.Source.ID)
		terms.Source.Source, terms.Interval, terms.Weight = r.Source, r.Interval, 1
		terms.Read, terms.Resumes = r.Read, r.Resumes
		src, _ := a.SetSource(terms)
		a.Table.Subscribe(slot, src, r.Since, r.From, false)
		fresh[r.Source.ID] = r.Fresh
	}
	a.change(slot, func(s Subscriber) Subscriber {
		id := a.wants.list[s.want].source.ID
		s.Fresh, s.covered = fresh[id], was[id] && fresh[id]
		return s
	})
}
