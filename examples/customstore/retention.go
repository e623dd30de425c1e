package main

import "time"

// idRetention is how long the id of a removed event is known: much longer than
// any poll looks back.
const idRetention = 30 * 24 * time.Hour

// sweep removes what is too old, in the line that a call writes anyway. It looks
// through all events, and so once a second at most.
func (s *Store) sweep(draft *state, now time.Time) {
	if since := now.Sub(s.swept); since >= 0 && since < time.Second {
		return
	}
	s.swept = now
	for id, l := range draft.Lives.all() {
		age := now.Sub(l.Since)
		if l.Open > 0 || age < s.opts.Retention {
			continue
		}
		if _, there := draft.Events.get(id); there {
			draft.Events.remove(id)
			for _, d := range l.Deliveries {
				draft.Deliveries.remove(d)
			}
			l.Deliveries = nil
			draft.Lives.put(id, l)
		}
		if age >= s.opts.Retention+idRetention {
			draft.Lives.remove(id)
		}
	}
}
