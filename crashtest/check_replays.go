package main

import (
	"fmt"
	"slices"
	"time"
)

// replayedOften is the highest number of replays that may have sent a failed
// delivery of a webhook again.
func (c *checker) replayedOften(endpoint string) int {
	ef := c.Customers.Endpoints[endpoint]
	if ef == nil {
		return 0
	}
	n := 0
	if !c.Customers.From[ef.URL].IsZero() {
		n++
	}
	for _, rf := range ef.Replays {
		n += rf.Tries
	}
	return n
}

// replays checks that every event a replay has passed has a delivery (I8).
func (c *checker) replays() {
	for i := range c.State.Replays {
		r := &c.State.Replays[i]
		sound := r.After <= r.Cursor && r.Cursor <= r.Last && r.Created+r.Reopened+r.Left+r.Removed <= r.Cursor-r.After
		switch r.State {
		case replayRunning:
		case replayDone:
			sound = sound && r.Cursor == r.Last
		default:
			sound = false
		}
		if !sound {
			c.add("I8", "replay %s of %s is %s: above %d, at %d, up to %d, with %d created, %d reopened, %d left and %d removed",
				r.ID, r.EndpointID, r.State, r.After, r.Cursor, r.Last, r.Created, r.Reopened, r.Left, r.Removed)
		}
		for k := range c.State.Events {
			e := &c.State.Events[k]
			if e.Source == r.SourceID && r.After < e.Seq && e.Seq <= r.Cursor && !e.Expired && !c.to[e.ID][r.EndpointID] {
				c.add("I8", "replay %s is at %d, and event %s, number %d, has no delivery to webhook %s", r.ID, r.Cursor, e.ID, e.Seq, r.EndpointID)
			}
		}
	}
}

// allReplayed checks that every replay has ended, and that each event of a
// confirmed one has a delivery (I8), which has ended (I3).
func (c *checker) allReplayed() {
	for _, r := range c.State.Replays {
		if r.State == replayRunning {
			c.add("I8", "replay %s of %s has not ended: it is at %d of %d", r.ID, r.EndpointID, r.Cursor, r.Last)
		}
	}
	for id, ef := range c.Customers.Endpoints {
		if ef.Told.IsZero() || !ef.DeleteAsked.IsZero() {
			continue
		}
		from := c.Customers.From[ef.URL]
		for i := range c.State.Events {
			e := &c.State.Events[i]
			if e.Source != ef.Source || e.Expired || c.to[e.ID][id] {
				continue
			}
			if !from.IsZero() && !e.Committed.Before(from) {
				c.add("I8", "event %s, committed %s, has no delivery to webhook %s, which was made to get those from %s on", e.ID, clock(e.Committed), id, clock(from))
			}
			for _, rf := range ef.Replays {
				if rf.Told && rf.covers(e) {
					c.add("I8", "event %s, committed %s, has no delivery to webhook %s, which was replayed from %s to %s",
						e.ID, clock(e.Committed), id, clock(rf.Since), clock(rf.Until))
				}
			}
		}
	}
}

// ending is how a delivery had ended when it was first seen to have ended.
type ending struct {
	seen      time.Time
	delivered bool
	life      int // the last process until then
	attempts  int
}

// sentAfter compares deliveries with how they had ended before: one recorded as
// delivered is never sent again, and one that had failed is sent again if a replay
// was asked for later (I8). It adds to ends what has ended since.
func sentAfter(ends map[string]ending, o *outcome, resting bool) (found []violation) {
	add := func(format string, args ...any) {
		found = append(found, violation{"I8", fmt.Sprintf(format, args...)})
	}
	now := time.Now()
	events := make(map[string]*event)
	for i := range o.State.Events {
		events[o.State.Events[i].ID] = &o.State.Events[i]
	}
	for i := range o.State.Deliveries {
		d := &o.State.Deliveries[i]
		ef := o.Customers.Endpoints[d.Endpoint]
		if ef == nil && d.Endpoint != handlerEndpoint {
			continue
		}
		was, ok := ends[d.ID]
		again := slices.ContainsFunc(o.sent(d), func(v visit) bool { return v.Life > was.life }) // a request of an earlier process may arrive late
		switch {
		case ok && was.delivered && d.State != stateDelivered:
			add("delivery %s to %s was delivered at %s, and is %s", d.ID, d.Endpoint, clock(was.seen), d.State)
		case ok && was.delivered && again:
			add("delivery %s to %s was delivered at %s, and was sent again by a process after %d", d.ID, d.Endpoint, clock(was.seen), was.life)
		case resting && ok && d.State == stateFailed && len(d.Attempts) == was.attempts && ef != nil && ef.DeleteAsked.IsZero():
			for _, rf := range ef.Replays {
				if e := events[d.Event]; rf.Told && rf.Asked.After(was.seen) && e != nil && rf.covers(e) {
					add("delivery %s to %s had failed at %s, and was not sent by the replay asked for at %s", d.ID, d.Endpoint, clock(was.seen), clock(rf.Asked))
				}
			}
		}
		if d.State == stateDelivered && !was.delivered || d.State == stateFailed && (!ok || len(d.Attempts) > was.attempts) {
			ends[d.ID] = ending{now, d.State == stateDelivered, o.Life, len(d.Attempts)}
		}
	}
	return found
}
