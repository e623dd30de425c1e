package memory

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

var _ storage.Sweeper = (*Store)(nil)

// Sweep implements storage.Sweeper. It has the store locked all the time: ten thousand events take a
// few milliseconds.
func (s *Store) Sweep(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if err := s.lock(ctx); err != nil {
		return storage.Erased{}, err
	}
	defer s.mu.Unlock()
	n, entries := s.records.erase(owner)
	e := storage.Erased{Monitors: n[record.Monitor], Rules: n[record.Rule], Endpoints: n[record.Endpoint], Keys: n[record.APIKey], Changes: entries}
	for id, r := range s.replays {
		if r.Owner == owner {
			delete(s.replays, id)
			e.Replays++
		}
	}
	s.events.erase(owner, &e)
	s.balances.erase(owner, &e)
	e.Answers = s.values.erase(owner)
	for _, target := range targets {
		if _, ok := s.cursors[target]; ok {
			delete(s.cursors, target)
			e.Cursors++
		}
	}
	return e, nil
}

// erase removes an owner's events and deliveries without remembering their ids.
func (l *events) erase(owner string, e *storage.Erased) {
	h := l.owners[owner]
	if h == nil {
		return
	}
	for _, ev := range h.events {
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
		if h.Owner == owner {
			delete(b.holds, id)
			e.Reservations++
		}
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
