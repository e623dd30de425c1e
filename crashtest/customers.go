package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
// webhook or reservation, and remember what they were told. They are in the parent
// and outlive the process.
type customers struct {
	*facts
	rand    *rand.Rand
	urls    string // of the receiver
	asked   int    // number of the last operation that was asked
	made    int    // number in the last new name, see number
	waiting []*task
	flight  map[int]*task

	monitors  [3]monitorSlot
	rules     [3]ruleSlot
	endpoints [3]endpointSlot
	money     [4]moneySlot
	// Creations that were answered with an error, so that what was made may have
	// been removed again: of monitors, and of webhooks by the monitor's id.
	failedMonitors  int
	failedEndpoints map[string]int

	fixed string // id of the first monitor that is never changed
}

// The things that come and go. A busy one has an operation under way.
type (
	monitorSlot struct {
		busy, paused    bool
		owner, name, id string
	}
	endpointSlot struct {
		busy bool
		id   string
	}
	ruleSlot struct {
		busy      bool
		owner, id string
	}
	moneySlot struct {
		busy  bool
		id    string // of a reservation that is held until then
		until time.Time
	}
)

func newCustomers(seed uint64, urls string) *customers {
	return &customers{facts: newFacts(), rand: rand.New(rand.NewPCG(seed, 3)), urls: urls, flight: make(map[int]*task), failedEndpoints: make(map[string]int)}
}

// settle asks for what a round begins with, before anything is killed: monitors
// that are never changed, with two webhooks each, and credits.
func (c *customers) settle(names []string) {
	for i, of := range [][]string{names[:6], names[4:10], names, names[8:]} {
		owner := rich
		if i%2 == 1 {
			owner = poor
		}
		c.createMonitor(&monitorSlot{}, owner, fmt.Sprintf("fixed-%d", i), of, func(w *watch) {
			c.Watches[w.ID].Fixed = true
			if i == 0 {
				c.fixed = w.ID
			}
			c.createEndpoint(&endpointSlot{}, owner, w.ID, w.Name+"-second")
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

// orphaned has the operations asked again that a process had not answered when it
// died: those whose numbers lost reports.
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

// createMonitor asks for a monitor with a webhook, and calls then with the monitor
// once it is made.
func (c *customers) createMonitor(slot *monitorSlot, owner, name string, accounts []string, then func(*watch)) {
	slot.busy = true
	path := "/hook/" + name
	o := op{Do: doCreateMonitor, Owner: owner, Name: name, Accounts: accounts, Interval: pollInterval, URL: c.urls + path, Key: webhookKey(path)}
	c.ask(o, func(r reply) {
		slot.busy = false
		if r.Err != "" || r.Watch == nil {
			c.broke("answers", "create monitor %s: %s", name, r.Err)
			return
		}
		now := time.Now()
		wf := c.noteWatch(r.Watch)
		wf.Told, wf.Last = now, r.Watch
		for _, e := range r.Endpoints {
			c.noteEndpoint(e).Told = now
		}
		if !strings.Contains(fmt.Sprint(r.Endpoints), path) {
			c.broke("I2", "monitor %s was made without its webhook", name)
		}
		*slot = monitorSlot{owner: owner, name: name, id: r.Watch.ID}
		then(r.Watch)
	})
}

// createEndpoint asks for another webhook of a monitor.
func (c *customers) createEndpoint(slot *endpointSlot, owner, source, name string) {
	slot.busy = true
	path := "/hook/" + name
	o := op{Do: doCreateEndpoint, Owner: owner, Name: name, ID: source, URL: c.urls + path, Key: webhookKey(path)}
	c.ask(o, func(r reply) {
		slot.busy = false
		if len(r.Endpoints) != 1 {
			c.broke("answers", "create endpoint %s: %d endpoints, %q", name, len(r.Endpoints), r.Err)
			return
		}
		c.noteEndpoint(r.Endpoints[0]).Told = time.Now()
		slot.id = r.Endpoints[0].ID
	})
}

// noteUndone records monitors and webhooks that were created while the store was cut off
// or late. The engine had no confirmation of that, and deleted them again; so nobody was
// told of them, but posts were detected for them meanwhile.
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
			w = &watchFacts{Owner: e.Owner, Since: make(map[string][]time.Time), DeleteAsked: true, Deleted: true}
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
		c.Endpoints[d.Endpoint] = &endpointFacts{Source: source, DeleteAsked: began}
	}
}
