package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Customers: one has plenty of credits, the other runs out of them.
const (
	rich = "ada"
	poor = "bob"
)

// task is an operation that a customer asks for until it is answered.
type task struct {
	op
	tries int
	done  func(reply) // called with the answer
}

// Bounds of what customers do.
const (
	maxInFlight = 8
	maxTries    = 100 // of one operation, each after a kill or a failure
)

// customers ask the process for operations, one at a time for each monitor, rule,
// webhook or reservation, and remember the answers. They are in the parent
// and outlive the process.
type customers struct {
	*facts
	rand    *rand.Rand
	urls    string // of the receiver
	asked   int    // number of the last operation that was asked
	made    int    // number in the last new name, see number
	waiting []*task
	flight  map[int]*task

	monitors, rules, endpoints, money [3]slot
	// Creations that were answered with an error: of monitors, and of webhooks by the
	// monitor's id. The engine may have made and removed them.
	failedMonitors  int
	failedEndpoints map[string]int

	fixed string // id of the first monitor that is never changed
}

func newCustomers(seed uint64, urls string) *customers {
	return &customers{facts: newFacts(), rand: rand.New(rand.NewPCG(seed, 3)), urls: urls, flight: make(map[int]*task), failedEndpoints: make(map[string]int)}
}

// settle asks for what a round begins with, before anything is killed: monitors
// that are never changed, with two webhooks each, and credits.
func (c *customers) settle(names []string) {
	for i, of := range [][]string{names[:6], names[4:10], names, names[8:]} {
		owner, name := []string{rich, poor}[i%2], fmt.Sprintf("fixed-%d", i)
		c.create(&slot{}, c.monitor(owner, name, of), func(id string) {
			c.Watches[id].Fixed = true
			if i == 0 {
				c.fixed = id
			}
			c.create(&slot{}, op{Do: doCreateEndpoint, Owner: owner, Name: name + "-second", ID: id}, func(string) {})
		})
	}
	c.append(rich, 1_000_000_000)
	c.append(poor, 2_000)
}

// idle says whether every answer has come.
func (c *customers) idle() bool { return len(c.waiting) == 0 && len(c.flight) == 0 }

// next is the operation to ask now, nil for none.
func (c *customers) next() *task {
	if len(c.waiting) == 0 || len(c.flight) >= maxInFlight {
		return nil
	}
	t := c.waiting[0]
	c.waiting = c.waiting[1:]
	c.asked++
	t.N = c.asked
	t.tries++
	c.flight[t.N] = t
	return t
}

// answered handles a reply. An operation that failed for a reason other than what
// the customers did themselves is asked again.
func (c *customers) answered(r reply) {
	t := c.flight[r.N]
	if t == nil {
		c.broke("answers", "operation %d was answered twice, or never asked", r.N)
		return
	}
	delete(c.flight, r.N)
	switch r.Err {
	case "", wasGone, wasInsufficient, wasResolved:
		t.done(r)
		return
	}
	switch t.Do {
	case doCreateMonitor:
		c.failedMonitors++
	case doCreateEndpoint:
		c.failedEndpoints[t.ID]++
	}
	if t.tries >= maxTries {
		c.broke("answers", "%s failed %d times, at last with %q", t.Do, t.tries, r.Err)
		return
	}
	c.waiting = append(c.waiting, t)
}

// orphaned asks the open operations again that lost reports: their process has died.
func (c *customers) orphaned(lost func(n int) bool) {
	for n, t := range c.flight {
		if lost(n) {
			delete(c.flight, n)
			c.waiting = append(c.waiting, t)
		}
	}
}

func (c *customers) ask(o op, done func(reply)) {
	c.waiting = append(c.waiting, &task{op: o, done: done})
}

// want adds an operation to ask for when none is waiting: the given kind of
// operation, if there is something to do it to, or any kind for "".
func (c *customers) want(do string) {
	if len(c.waiting) > 0 {
		return
	}
	switch do {
	case "":
		c.any()
	case doCreateMonitor, doUpdateMonitor, doPauseMonitor, doResumeMonitor, doDeleteMonitor:
		c.changeMonitors(do)
	case doCreateRule, doUpdateRule, doDeleteRule:
		c.changeRules(do)
	case doCreateEndpoint, doDeleteEndpoint:
		c.changeEndpoints(do)
	case doReserve, doCommit, doRelease, doAppend:
		c.changeMoney(do)
	}
}

func (c *customers) any() {
	switch n := c.rand.IntN(22); {
	case n < 4:
		c.changeMonitors([]string{doUpdateMonitor, doPauseMonitor, doDeleteMonitor, doCreateMonitor}[n])
	case n < 7:
		c.changeEndpoints([]string{doCreateEndpoint, doDeleteEndpoint}[n%2])
	case n < 19:
		c.changeMoney([]string{doAppend, doReserve, doCommit, doRelease}[n%4])
	default:
		c.changeRules([]string{doCreateRule, doUpdateRule, doDeleteRule}[n-19])
	}
}

// number makes a name that was never used in this round.
func (c *customers) number(what string) string {
	c.made++
	return fmt.Sprintf("%s-%d", what, c.made)
}

// noteUndone records monitors and webhooks that were created while the store was cut off
// or late. The engine had no confirmation, and deleted them again, after posts were
// detected for them.
func (c *customers) noteUndone(s *state, began time.Time) {
	there := make(map[string]bool)
	for _, m := range s.Monitors {
		there[m.ID] = true
	}
	for _, e := range s.Endpoints {
		there[e.ID] = true
	}
	of := make(map[string]string) // source by event
	for _, e := range s.Events {
		of[e.ID] = e.Source
		w := c.Watches[e.Source]
		if w == nil && !there[e.Source] && c.failedMonitors > 0 {
			c.failedMonitors--
			w = &watchFacts{recordFacts: recordFacts{DeleteAsked: began, Deleted: began}, Owner: e.Owner, Since: make(map[string][]time.Time)}
			c.Watches[e.Source] = w
		}
		if w != nil && w.Name == "" {
			w.Since[e.Author] = []time.Time{{}}
		}
	}
	for _, d := range s.Deliveries {
		source := of[d.Event]
		w := c.Watches[source]
		if w == nil || d.Endpoint == handlerEndpoint || there[d.Endpoint] || c.Endpoints[d.Endpoint] != nil {
			continue
		}
		if w.Name != "" {
			if c.failedEndpoints[source] == 0 {
				continue
			}
			c.failedEndpoints[source]--
		}
		c.Endpoints[d.Endpoint] = &endpointFacts{recordFacts: recordFacts{DeleteAsked: began}, Source: source}
	}
}
