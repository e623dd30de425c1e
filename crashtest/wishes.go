package main

import (
	"slices"
	"time"
)

// slot is a monitor, rule, webhook or reservation that customers create and delete. It is busy
// while an operation on it is in progress.
type slot struct {
	busy, paused bool
	owner, id    string
	until        time.Time // of a reservation
}

// free returns one of the slots, nil if it is busy.
func (c *customers) free(slots []slot) *slot {
	if s := &slots[c.rand.IntN(len(slots))]; !s.busy {
		return s
	}
	return nil
}

func (c *customers) anybody() string { return []string{rich, poor}[c.rand.IntN(2)] }

// create asks for a monitor, rule or webhook with a webhook of the name o.Name. It calls then with
// the id once it is created.
func (c *customers) create(s *slot, o op, then func(id string)) {
	path := "/hook/" + o.Name
	o.URL, o.Key, s.busy = c.urls+path, webhookKey(path), true
	c.ask(o, func(r reply) {
		s.busy = false
		if r.Err != "" || r.ID == "" || !slices.ContainsFunc(r.Endpoints, func(e endpoint) bool { return e.URL == o.URL }) {
			c.broke("answers", "%s %s: %+v", o.Do, o.Name, r)
			return
		}
		now := recordFacts{Told: time.Now()}
		switch o.Do {
		case doCreateMonitor:
			wf := c.noteWatch(r.Watch)
			wf.recordFacts, wf.Last = now, r.Watch
		case doCreateRule:
			c.Rules[r.ID] = &now
		}
		for _, e := range r.Endpoints {
			c.noteEndpoint(e).recordFacts = now
		}
		s.owner, s.id = o.Owner, r.ID
		then(r.ID)
	})
}

// change asks for a change, which deletes the records of gone.
func (c *customers) change(s *slot, o op, gone ...*recordFacts) {
	deletes := o.Do == doDeleteMonitor || o.Do == doDeleteRule || o.Do == doDeleteEndpoint
	for _, f := range gone {
		f.DeleteAsked = time.Now()
	}
	o.Owner, o.ID, s.busy = s.owner, s.id, true
	c.ask(o, func(r reply) {
		s.busy = false
		for _, f := range gone {
			f.Deleted = time.Now()
		}
		switch {
		case deletes && (r.Err == "" || r.Err == wasGone):
			*s = slot{}
		case r.Err != "":
			c.broke("answers", "%s of %s, which was confirmed: %s", o.Do, s.id, r.Err)
			*s = slot{}
		case r.Watch != nil:
			c.noteWatch(r.Watch).Last = r.Watch
			s.paused = !r.Watch.Active
		}
	})
}

// changeMonitors asks for a change of one of the monitors in slots. If the change needs something
// first, it asks for that.
func (c *customers) changeMonitors(do string) {
	s := c.free(c.monitors[:])
	switch {
	case s == nil:
		return
	case s.id == "":
		c.create(s, c.monitor(c.anybody(), c.number("changing"), c.someAccounts()), func(string) {})
		return
	case do == doCreateMonitor: // the slot has one: delete that first
		do = doDeleteMonitor
	case do == doPauseMonitor && s.paused:
		do = doResumeMonitor
	}
	o, wf := op{Do: do}, c.Watches[s.id]
	wf.Last = nil
	switch do {
	case doUpdateMonitor:
		o.Accounts = c.someAccounts()
	case doDeleteMonitor:
		c.change(s, o, append(c.webhooksOf(s.id), &wf.recordFacts)...)
		return
	}
	c.change(s, o)
}

// monitor is the operation that creates a monitor.
func (c *customers) monitor(owner, name string, accounts []string) op {
	return op{Do: doCreateMonitor, Owner: owner, Name: name, Accounts: accounts, Interval: pollInterval}
}

// someAccounts returns 1 to 6 accounts that follow each other in the list.
func (c *customers) someAccounts() []string {
	names := accountNames()
	from := c.rand.IntN(len(names) - 6)
	return names[from : from+1+c.rand.IntN(6)]
}

// changeEndpoints asks to create or delete one of the webhooks in slots. They belong to the first
// fixed monitor.
func (c *customers) changeEndpoints(do string) {
	s := c.free(c.endpoints[:])
	switch {
	case s == nil || c.fixed == "":
	case s.id == "":
		c.create(s, op{Do: doCreateEndpoint, Owner: rich, Name: c.number("hook"), ID: c.fixed}, func(string) {})
	case do == doDeleteEndpoint || c.rand.IntN(4) == 0: // in most cases the webhook stays for a while to receive events
		c.change(s, op{Do: doDeleteEndpoint}, &c.Endpoints[s.id].recordFacts)
	}
}

// ruleQuery matches no post. The run tests only how rules and their webhooks are created, changed
// and deleted.
const ruleQuery = `from:account0001 "nobody posts this"`

// changeRules asks for a change of a rule. If the change needs something first, it asks for that.
func (c *customers) changeRules(do string) {
	s := c.free(c.rules[:])
	switch {
	case s == nil:
	case s.id == "":
		c.create(s, op{Do: doCreateRule, Owner: c.anybody(), Name: c.number("rule")}, func(string) {})
	case do != doUpdateRule: // the slot has one: delete that first
		c.change(s, op{Do: doDeleteRule}, append(c.webhooksOf(s.id), c.Rules[s.id])...)
	case c.rand.IntN(3) == 0: // it gets no webhook
		c.change(s, op{Do: doUpdateRule}, c.webhooksOf(s.id)...)
	default:
		c.change(s, op{Do: doUpdateRule, URL: c.urls + "/hook/" + c.number("moved")})
	}
}

// changeMoney asks to reserve credits, to commit or release a reservation, or to
// append entries.
func (c *customers) changeMoney(do string) {
	if do == doAppend {
		switch c.rand.IntN(4) {
		case 0:
			c.append(c.anybody(), c.rand.Int64N(5000)+1)
		case 1: // all or nothing, and the second is refused
			c.append(c.anybody(), 1, -1_000_000_000_000)
		default:
			c.append(c.anybody(), -c.rand.Int64N(2000)-1)
		}
		return
	}
	s := c.free(c.money[:])
	switch {
	case s == nil:
	case s.id == "":
		c.reserve(s, c.anybody())
	case do == doCommit:
		c.resolve(s, doCommit)
	default:
		c.resolve(s, doRelease)
	}
}

func (c *customers) append(owner string, amounts ...int64) {
	o := op{Do: doAppend, Owner: owner}
	for _, amount := range amounts {
		e := entry{ID: c.number("entry"), Owner: owner, Amount: amount}
		o.Entries = append(o.Entries, e)
		c.Entries[e.ID] = &entryFacts{Owner: owner, Amount: amount}
	}
	c.ask(o, func(r reply) {
		if r.Err != "" && r.Err != wasInsufficient {
			c.broke("answers", "append: %s", r.Err)
			return
		}
		for _, e := range o.Entries {
			c.Entries[e.ID].Must, c.Entries[e.ID].Never = r.Err == "", r.Err != ""
		}
	})
}

// reserve asks to reserve an amount, for an hour or for a moment.
func (c *customers) reserve(s *slot, owner string) {
	o := op{Do: doReserve, Owner: owner, ID: c.number("reservation"), Amount: c.rand.Int64N(500), Expires: time.Now().Add(time.Hour)}
	short := c.rand.IntN(3) == 0
	if short {
		o.Expires = time.Now().Add(time.Duration(50+c.rand.IntN(350)) * time.Millisecond)
	}
	s.busy = true
	c.Entries[o.ID] = &entryFacts{Owner: owner, Amount: -o.Amount, Never: true} // until it is committed
	c.ask(o, func(r reply) {
		s.busy = false
		switch {
		case r.Err == "":
			s.id, s.until = o.ID, o.Expires
		case r.Err == wasInsufficient, r.Err == wasResolved && short:
		default:
			c.broke("I5", "reserve %s: %s", o.ID, r.Err)
		}
	})
}

// resolve asks to commit or release the reservation of a slot.
func (c *customers) resolve(s *slot, do string) {
	id, ef := s.id, c.Entries[s.id]
	short := time.Until(s.until) < time.Minute
	ef.Never = do == doRelease
	s.busy = true
	c.ask(op{Do: do, Owner: ef.Owner, ID: id}, func(r reply) {
		*s = slot{}
		switch {
		case r.Err == "":
			ef.Must = do == doCommit
		case r.Err == wasResolved && do == doCommit && short:
			ef.Never = true
		default:
			c.broke("I5", "%s of reservation %s, which was confirmed: %s", do, id, r.Err)
		}
	})
}

// look asks a process to read all records while it and others change them.
func (c *customers) look() {
	c.ask(op{Do: doLook}, func(r reply) {
		for _, half := range r.HalfDone {
			c.broke("records", "seen beside a change: %s", half)
		}
	})
}
