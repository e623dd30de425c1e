package memory

import (
	"container/heap"
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage"
)

var _ storage.Eraser = (*Store)(nil)

// Erase implements storage.Eraser. It has the store locked all the time: ten thousand events take a
// few milliseconds.
func (s *Store) Erase(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if err := s.lock(ctx); err != nil {
		return storage.Erased{}, err
	}
	defer s.mu.Unlock()
	for _, r := range s.keys.owners[owner] {
		delete(s.keys.byLookup, r.rec.Lookup())
	}
	e := storage.Erased{Monitors: s.monitors.erase(owner), Rules: s.rules.erase(owner), Keys: s.keys.erase(owner)}
	for id, r := range s.replays {
		if r.Owner == owner {
			delete(s.replays, id)
			e.Replays++
		}
	}
	for source := range s.bound {
		if source.owner == owner {
			delete(s.bound, source)
		}
	}
	e.Endpoints = s.endpoints.erase(owner)
	s.events.erase(owner, &e)
	s.balances.erase(owner, &e)
	e.Answers = s.answers.erase(owner)
	for _, target := range targets {
		if _, ok := s.cursors[target]; ok {
			delete(s.cursors, target)
			e.Cursors++
		}
	}
	for i := range s.feed.changes {
		if c := &s.feed.changes[i]; c.Owner == owner && owner != "" {
			c.Owner = ""
			e.Changes++
		}
	}
	return e, nil
}

// erase removes an owner's records and returns how many there were.
func (t *table[T]) erase(owner string) (n int) {
	for len(t.owners[owner]) > 0 {
		t.remove(t.owners[owner][len(t.owners[owner])-1])
		n++
	}
	return n
}

// erase removes an owner's events and deliveries without remembering their ids.
func (l *events) erase(owner string, e *storage.Erased) {
	h := l.owners[owner]
	if h == nil {
		return
	}
	for _, ev := range h.events {
		if ev.ev == nil {
			continue // retention has removed it
		}
		for _, d := range ev.deliveries {
			if !d.state.Final() {
				l.open.remove(d)
			}
			delete(l.deliveries, d.id)
			e.Deliveries++
			e.Attempts += len(d.attempts)
		}
		delete(l.byID, ev.key)
		e.Events++
	}
	l.settled = slices.DeleteFunc(l.settled, func(ev *event) bool { return ev.owner == h })
	l.erased = max(l.erased, h.seq)
	delete(l.owners, owner)
}

// erase removes an owner's account, entries, totals and open reservations.
func (b *balances) erase(owner string, e *storage.Erased) {
	for id, h := range b.holds {
		if h.Owner != owner {
			continue
		}
		delete(b.holds, id)
		if h.index >= 0 {
			heap.Remove(&b.expiring, h.index)
		}
		e.Reservations++
	}
	ids := map[key]bool{}
	b.entries = slices.DeleteFunc(b.entries, func(entry *billing.Entry) bool {
		if entry.Owner != owner {
			return false
		}
		ids[keyOf(entry.ID)] = true
		return true
	})
	e.Entries = len(ids)
	b.ids.forget(ids)
	for src := range b.totals {
		if src.Owner == owner {
			delete(b.totals, src)
		}
	}
	delete(b.owners, owner)
}

// forget removes ids before their time.
func (r *recent[V]) forget(ids map[key]bool) {
	if len(ids) == 0 {
		return
	}
	r.order = slices.DeleteFunc(r.order, func(k key) bool { return ids[k] })
	for k := range ids {
		delete(r.values, k)
	}
}
