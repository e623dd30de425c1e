package main

import (
	"net/http"
	"slices"
)

// deliveries checks that each event has one delivery to the handler, and one to each webhook of its
// monitor (I2). It also checks that the recorded attempts of each delivery fit its state (I3).
func (c *checker) deliveries() {
	for i := range c.State.Deliveries {
		d := &c.State.Deliveries[i]
		if c.rows[d.ID] != nil {
			c.add("I2", "delivery %s is there twice", d.ID)
		}
		c.rows[d.ID] = d
		e := c.events[d.Event]
		if e == nil {
			c.add("I2", "delivery %s is of event %s, which is not there", d.ID, d.Event)
			continue
		}
		if d.ID != deliveryID(d.Event, d.Endpoint) {
			c.add("I2", "delivery %s of event %s to %s: want the id %s", d.ID, d.Event, d.Endpoint, deliveryID(d.Event, d.Endpoint))
		}
		if c.to[d.Event] == nil {
			c.to[d.Event] = make(map[string]bool)
		}
		c.to[d.Event][d.Endpoint] = true
		c.mayReceive(d, e)
		c.attempts(d)
	}
	bound := make(map[string][]string) // endpoints by source
	for id, ef := range c.Customers.Endpoints {
		bound[ef.Source] = append(bound[ef.Source], id)
	}
	for i := range c.State.Events {
		e := &c.State.Events[i]
		if !c.to[e.ID][handlerEndpoint] {
			c.add("I2", "event %s has no delivery to the handler", e.ID)
		}
		for _, id := range bound[e.Source] {
			if c.mustReceive(id, e) && !c.to[e.ID][id] {
				c.add("I2", "event %s, committed %s, has no delivery to webhook %s, there since %s", e.ID, clock(e.Committed), id, clock(c.Customers.Endpoints[id].Told))
			}
		}
	}
}

// mustReceive reports whether a webhook must have a delivery of an event: the webhook was confirmed
// before the commit, and no request to delete it came before the commit.
func (c *checker) mustReceive(endpoint string, e *event) bool {
	ef := c.Customers.Endpoints[endpoint]
	return !ef.Told.IsZero() && ef.Told.Before(e.Committed) &&
		(ef.DeleteAsked.IsZero() || e.Committed.Before(ef.DeleteAsked.Add(-slack)))
}

// mayReceive checks that a delivery goes to a webhook that the event's monitor had.
func (c *checker) mayReceive(d *delivery, e *event) {
	if d.Endpoint == handlerEndpoint {
		return
	}
	ef := c.Customers.Endpoints[d.Endpoint]
	switch {
	case ef == nil:
		c.add("I2", "delivery %s is to %s, which nobody made", d.ID, d.Endpoint)
	case ef.Source != e.Source:
		c.add("I2", "delivery %s of monitor %s is to %s, a webhook of %s", d.ID, e.Source, d.Endpoint, ef.Source)
	case !ef.Deleted.IsZero() && e.Committed.After(ef.Deleted.Add(slack)):
		c.add("I2", "delivery %s, committed %s, is to %s, which was deleted at %s", d.ID, clock(e.Committed), d.Endpoint, clock(ef.Deleted))
	}
}

// attempts checks the attempts of a delivery. They are numbered from 1, at most four of them count,
// and the state of the delivery follows from them. An attempt answered with 429 does not count,
// because the receiver asked to wait.
func (c *checker) attempts(d *delivery) {
	n := len(d.Attempts)
	answers, counted := 0, 0
	for i, a := range d.Attempts {
		if a.Status != 0 {
			answers++
		}
		if a.Status != http.StatusTooManyRequests {
			counted++
		}
		if a.N != i+1 {
			c.add("I3", "delivery %s: attempt %d has number %d", d.ID, i+1, a.N)
		}
	}
	if counted > maxAttempts {
		c.add("I3", "delivery %s has %d attempts that count", d.ID, counted)
	}
	if got := len(c.sent(d)); answers > got {
		c.add("I3", "delivery %s has %d answers recorded, and %s got %d requests", d.ID, answers, d.Endpoint, got)
	}
	final := d.State == stateDelivered || d.State == stateFailed
	if final == d.Open {
		c.add("I3", "delivery %s is %s, and open %t", d.ID, d.State, d.Open)
	}
	last := attempt{}
	if n > 0 {
		last = d.Attempts[n-1]
	}
	sound := false
	switch d.State {
	case statePending:
		sound = n == 0
	case stateRetrying:
		sound = n > 0 && counted < maxAttempts && last.Error != ""
	case stateDelivered:
		sound = n > 0 && last.Error == "" && (d.Endpoint == handlerEndpoint || last.Status == 200)
	case stateFailed:
		ef := c.Customers.Endpoints[d.Endpoint]
		sound = counted == maxAttempts && last.Error != "" || ef != nil && !ef.DeleteAsked.IsZero()
	}
	if !sound {
		c.add("I3", "delivery %s is %s after %d attempts, the last %d %q", d.ID, d.State, n, last.Status, last.Error)
	}
}

// requests checks the requests that reached the receiver. Each is recorded and signed with the
// webhook's key, and the body has the same bytes in every attempt and for every receiver (I4).
func (c *checker) requests() {
	bodies := make(map[string]sum) // by event
	same := func(event, what string, body sum) {
		if was, ok := bodies[event]; ok && was != body {
			c.add("I4", "%s of event %s has other bytes than before", what, event)
		}
		bodies[event] = body
	}
	for id, visits := range c.Requests {
		for _, v := range visits {
			event := eventID(v.Source, v.Tweet)
			if id != deliveryID(event, v.Endpoint) {
				c.add("I4", "a request to %s with id %q says it is of monitor %s, post %s to %s", v.Path, id, v.Source, v.Tweet, v.Endpoint)
				continue
			}
			if !v.Signed {
				c.add("I4", "delivery %s to %s is not signed with its key", id, v.Path)
			}
			if !c.known(event) {
				c.add("I2", "delivery %s was sent, and its event %s is not recorded", id, event)
			} else if c.rows[id] == nil {
				c.add("I2", "delivery %s was sent and is not recorded", id)
			}
			same(event, "delivery "+id, v.Body)
		}
	}
	for event, calls := range c.Handled {
		if !c.known(event) {
			c.add("I2", "the handler got event %s, which is not recorded", event)
		}
		for _, call := range calls {
			same(event, "the handler's copy", call.Body)
		}
	}
}

// allSettled checks that every delivery has ended, and that the receiver has accepted each one
// recorded as delivered (I3).
func (c *checker) allSettled() {
	for i := range c.State.Deliveries {
		d := &c.State.Deliveries[i]
		if d.Open || d.State != stateDelivered && d.State != stateFailed {
			c.add("I3", "delivery %s has not ended: it is %s after %d attempts", d.ID, d.State, len(d.Attempts))
		}
		if d.State != stateDelivered {
			continue
		}
		if !taken(c.sent(d)) {
			c.add("I3", "delivery %s is delivered, and %s never took it", d.ID, d.Endpoint)
		}
	}
}

// sentOnce checks that an ended delivery was sent once for each recorded attempt, except attempts
// that a process could not record before it died (I3).
//
// A process sends a delivery again only after its last attempt was recorded, by itself or by
// another process. Hence it sends each number once. No number is above the last recorded one, which
// ended the delivery.
//
// If processes run one after the other, each may die before it records its last attempt of a
// delivery, except the process that ended the delivery. If deleting the webhook ended the delivery,
// one more attempt may have been in progress: both bounds are higher by one.
func (c *checker) sentOnce() {
	for i := range c.State.Deliveries {
		d := &c.State.Deliveries[i]
		visits, of := c.sent(d), make(map[int]int)
		for _, v := range visits {
			of[v.Life]++
		}
		recorded := len(d.Attempts)
		if ef := c.Customers.Endpoints[d.Endpoint]; ef != nil && !ef.DeleteAsked.IsZero() {
			recorded++
		}
		for life, n := range of {
			if n > recorded {
				c.add("I3", "delivery %s has %d attempts recorded, and process %d sent it to %s %d times", d.ID, len(d.Attempts), life, d.Endpoint, n)
			}
		}
		if lost := max(0, len(of)-1); !c.Shared && len(visits) > recorded+lost {
			c.add("I3", "delivery %s has %d attempts recorded, and %s got it %d times from %d processes", d.ID, len(d.Attempts), d.Endpoint, len(visits), len(of))
		}
	}
}

// staysDelivered checks that a delivery found delivered by an earlier check still is, and that no
// later process has sent it again (I3). ends has, by delivery, the process that ran at that check.
// staysDelivered adds the deliveries that it finds delivered.
func (c *checker) staysDelivered(ends map[string]int) {
	for i := range c.State.Deliveries {
		d := &c.State.Deliveries[i]
		was, ended := ends[d.ID]
		switch {
		case ended && d.State != stateDelivered:
			c.add("I3", "delivery %s to %s was delivered, and is %s", d.ID, d.Endpoint, d.State)
		case ended && slices.ContainsFunc(c.sent(d), func(v visit) bool { return v.Life > was }):
			c.add("I3", "delivery %s to %s was delivered, and was sent again by a process after %d", d.ID, d.Endpoint, was)
		case !ended && d.State == stateDelivered:
			ends[d.ID] = c.Life
		}
	}
}
