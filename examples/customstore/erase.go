package main

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

var _ storage.Eraser = (*Store)(nil)

// Erase implements storage.Eraser, in one line of the file: it names the ids of what is
// gone until the file is rewritten.
func (s *Store) Erase(ctx context.Context, name string, targets ...string) (e storage.Erased, err error) {
	err = s.update(ctx, func(draft *state, _ time.Time) error {
		e = draft.erase(name)
		for _, target := range targets {
			if _, there := draft.Cursors.get(target); there {
				draft.Cursors.remove(target)
				e.Cursors++
			}
		}
		return nil
	})
	return e, err
}

func (s *state) erase(name string) (e storage.Erased) {
	e.Monitors = drop(&s.Monitors, func(_ string, m monitor.Monitor) bool { return m.Owner == name })
	e.Rules = drop(&s.Rules, func(_ string, r rule.Rule) bool { return r.Owner == name })
	e.Replays = drop(&s.Replays, func(_ string, r deliver.Replay) bool { return r.Owner == name })
	e.Endpoints = drop(&s.Endpoints, func(_ string, ep endpoint) bool { return ep.Source.Owner == name })
	e.Deliveries = drop(&s.Deliveries, func(_ string, d delivery) bool {
		ev, _ := s.Events.get(d.EventID)
		if ev.Source.Owner != name {
			return false
		}
		e.Attempts += len(d.Log)
		return true
	})
	e.Events = drop(&s.Events, func(id string, ev deliver.Event) bool {
		if ev.Source.Owner != name {
			return false
		}
		s.Lives.remove(id)
		return true
	})
	totals := map[string]bool{}
	e.Entries = drop(&s.Entries, func(_ string, entry billing.Entry) bool {
		if src, ok := entry.Source(); ok && entry.Owner == name {
			totals[totalKey(src)] = true
		}
		return entry.Owner == name
	})
	drop(&s.Totals, func(key string, _ billing.Credits) bool { return totals[key] })
	drop(&s.Reservations, func(_ string, r reservation) bool {
		if r.Owner == name && r.Outcome == held {
			e.Reservations++
		}
		return r.Owner == name
	})
	if o, there := s.Owners.get(name); there {
		past, _ := s.Erased.get(erasedSeq)
		s.Erased.put(erasedSeq, max(past, o.Seq))
		s.Owners.remove(name)
	}
	return e
}

// drop removes the rows that match and returns how many there were.
func drop[T any](t *table[T], match func(id string, row T) bool) (n int) {
	for id, row := range t.all() {
		if match(id, row) {
			t.remove(id)
			n++
		}
	}
	return n
}

// Scrub implements storage.Eraser: the rewritten file has only what is there.
func (s *Store) Scrub(ctx context.Context) (left []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.rewrite(); err != nil {
		return nil, s.fail(err)
	}
	return []string{"copies of the file keep what they had"}, nil
}
