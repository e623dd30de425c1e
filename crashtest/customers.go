package main

import (
	"fmt"
	"math/rand/v2"
)

// The customers. rich always has enough credits, poor runs out of them.
const (
	rich = "ada"
	poor = "bob"
)

// task is an operation that a customer asks for again and again until it is answered.
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

// customers asks the child for operations, one at a time for each monitor, rule, webhook or
// reservation, and records the answers. It is in the parent, and continues when the child dies.
type customers struct {
	*facts
	rand    *rand.Rand
	urls    string // of the receiver
	asked   int    // number of the last operation that was asked
	made    int    // number in the last name given: see number
	waiting []*task
	flight  map[int]*task

	monitors, rules, endpoints, money [3]slot

	fixed string // id of the first monitor that is never changed
}

func newCustomers(seed uint64, urls string) *customers {
	return &customers{facts: newFacts(), rand: rand.New(rand.NewPCG(seed, 3)), urls: urls, flight: make(map[int]*task)}
}

// settle asks for the records that a round begins with, before any kill: credits, and monitors that
// are never changed, with two webhooks each.
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

// answered handles a reply. It asks for the operation again if that failed, unless another
// operation of the customers explains the failure.
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
	if t.tries >= maxTries {
		c.broke("answers", "%s failed %d times, at last with %q", t.Do, t.tries, r.Err)
		return
	}
	c.waiting = append(c.waiting, t)
}

// orphaned asks again for the open operations for which lost returns true, because their process
// has died.
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

// want adds an operation of the kind do, or of any kind if do is "". It adds none while another
// operation waits, or if there is nothing that the operation could change.
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
	switch n := c.rand.IntN(26); {
	case n < 4:
		c.changeMonitors([]string{doUpdateMonitor, doPauseMonitor, doDeleteMonitor, doCreateMonitor}[n])
	case n < 7:
		c.changeEndpoints([]string{doCreateEndpoint, doDeleteEndpoint}[n%2])
	case n < 19:
		c.changeMoney([]string{doAppend, doReserve, doCommit, doRelease}[n%4])
	case n < 22:
		c.changeRules([]string{doCreateRule, doUpdateRule, doDeleteRule}[n-19])
	default:
		c.look()
	}
}

// number makes a name that was never used in this round.
func (c *customers) number(what string) string {
	c.made++
	return fmt.Sprintf("%s-%d", what, c.made)
}
