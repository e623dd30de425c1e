package main

import "time"

// idRetention is how long the id of a removed event is known. It is much longer than polls read back.
const idRetention = 30 * 24 * time.Hour

// sweep removes old events, in a line that a call writes anyway. It reads all events, so it runs at
// most once a second.
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
