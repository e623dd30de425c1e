package main

import "time"

// changeMonitors asks for a change of one of the monitors that come and go, or first
// for what that change needs.
func (c *customers) changeMonitors(do string) {
	slot := &c.monitors[c.rand.IntN(len(c.monitors))]
	if slot.busy {
		return
	}
	if slot.id == "" {
		c.createMonitor(slot, []string{rich, poor}[c.rand.IntN(2)], c.number("changing"), c.someAccounts(), func(*watch) {})
		return
	}
	if do == doCreateMonitor { // the slot has one: delete that first
		do = doDeleteMonitor
	}
	if do == doPauseMonitor && slot.paused {
		do = doResumeMonitor
	}
	wf := c.Watches[slot.id]
	wf.Last = nil
	o := op{Do: do, Owner: slot.owner, ID: slot.id}
	switch do {
	case doUpdateMonitor:
		o.Accounts = c.someAccounts()
	case doDeleteMonitor:
		wf.DeleteAsked = true
		now := time.Now()
		for _, e := range c.Endpoints {
			if e.Source == slot.id {
				e.DeleteAsked = now
			}
		}
	}
	slot.busy = true
	c.ask(o, func(r reply) {
		slot.busy = false
		switch {
		case do == doDeleteMonitor:
			wf.Deleted = true
			now := time.Now()
			for _, e := range c.Endpoints {
				if e.Source == slot.id {
					e.Deleted = now
				}
			}
			*slot = monitorSlot{}
		case r.Err != "" || r.Watch == nil:
			c.broke("answers", "%s of %s, which was confirmed: %s", do, slot.id, r.Err)
			*slot = monitorSlot{}
		default:
			c.noteWatch(r.Watch).Last = r.Watch
			slot.paused = !r.Watch.Active
		}
	})
}

// someAccounts chooses 1 to 6 accounts that follow each other in the list.
func (c *customers) someAccounts() []string {
	names := accountNames()
	from := c.rand.IntN(len(names) - 6)
	return names[from : from+1+c.rand.IntN(6)]
}

// changeEndpoints asks to create or delete one of the webhooks of the first fixed
// monitor that come and go.
func (c *customers) changeEndpoints(do string) {
	slot := &c.endpoints[c.rand.IntN(len(c.endpoints))]
	if slot.busy || c.fixed == "" {
		return
	}
	if slot.id == "" {
		c.createEndpoint(slot, rich, c.fixed, c.number("hook"))
		return
	}
	// A webhook is mostly left to receive for a while, unless its deletion is asked for.
	if do != doDeleteEndpoint && c.rand.IntN(4) > 0 {
		return
	}
	ef := c.Endpoints[slot.id]
	ef.DeleteAsked = time.Now()
	slot.busy = true
	c.ask(op{Do: doDeleteEndpoint, Owner: rich, ID: slot.id}, func(reply) {
		ef.Deleted = time.Now()
		*slot = endpointSlot{}
	})
}

// ruleQuery finds nothing: the run tests how rules and their webhooks are created,
// changed and deleted.
const ruleQuery = `from:account0001 "nobody posts this"`

// changeRules asks for a change of a rule, or first for what that change needs.
func (c *customers) changeRules(do string) {
	slot := &c.rules[c.rand.IntN(len(c.rules))]
	if slot.busy {
		return
	}
	if slot.id == "" {
		c.createRule(slot, []string{rich, poor}[c.rand.IntN(2)], c.number("rule"))
		return
	}
	if do == doCreateRule { // the slot has one: delete that first
		do = doDeleteRule
	}
	o := op{Do: do, Owner: slot.owner, ID: slot.id}
	if do == doUpdateRule && c.rand.IntN(3) > 0 { // else it gets none
		o.URL = c.urls + "/hook/" + c.number("moved")
	}
	of, now := c.Rules[slot.id], time.Now()
	of.DeleteAsked = do == doDeleteRule
	var gone []*endpointFacts
	for _, e := range c.Endpoints {
		if e.Source == slot.id && o.URL == "" && e.Deleted.IsZero() {
			e.DeleteAsked = now
			gone = append(gone, e)
		}
	}
	slot.busy = true
	c.ask(o, func(r reply) {
		slot.busy = false
		if r.Err != "" && (do != doDeleteRule || r.Err != wasGone) {
			c.broke("answers", "%s of %s, which was confirmed: %s", do, slot.id, r.Err)
		}
		for _, e := range gone {
			e.Deleted = time.Now()
		}
		if of.Deleted = do == doDeleteRule; of.Deleted {
			*slot = ruleSlot{}
		}
	})
}

// createRule asks for a rule with a webhook.
func (c *customers) createRule(slot *ruleSlot, owner, tag string) {
	slot.busy = true
	path := "/hook/" + tag
	c.ask(op{Do: doCreateRule, Owner: owner, Name: tag, URL: c.urls + path, Key: webhookKey(path)}, func(r reply) {
		slot.busy = false
		if r.Err != "" || r.Rule == "" || len(r.Endpoints) != 1 {
			c.broke("answers", "create rule %s: %q with %d endpoints, %q", tag, r.Rule, len(r.Endpoints), r.Err)
			return
		}
		c.Rules[r.Rule] = &ruleFacts{}
		c.noteEndpoint(r.Endpoints[0]).Told = time.Now()
		*slot = ruleSlot{owner: owner, id: r.Rule}
	})
}

// changeMoney asks to reserve credits, to commit or release a reservation, or to
// append entries.
func (c *customers) changeMoney(do string) {
	owner := []string{rich, poor}[c.rand.IntN(2)]
	if do == doAppend {
		switch c.rand.IntN(4) {
		case 0:
			c.append(owner, c.rand.Int64N(5000)+1)
		case 1: // all or nothing, and the second is refused
			c.append(owner, 1, -1_000_000_000_000)
		default:
			c.append(owner, -c.rand.Int64N(2000)-1)
		}
		return
	}
	slot := &c.money[c.rand.IntN(len(c.money))]
	switch {
	case slot.busy:
	case slot.id == "":
		c.reserve(slot, owner)
	case do == doCommit:
		c.resolve(slot, doCommit)
	default:
		c.resolve(slot, doRelease)
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
func (c *customers) reserve(slot *moneySlot, owner string) {
	o := op{Do: doReserve, Owner: owner, ID: c.number("reservation"), Amount: c.rand.Int64N(500), Expires: time.Now().Add(time.Hour)}
	short := c.rand.IntN(3) == 0
	if short {
		o.Expires = time.Now().Add(time.Duration(50+c.rand.IntN(350)) * time.Millisecond)
	}
	slot.busy = true
	c.Entries[o.ID] = &entryFacts{Owner: owner, Amount: -o.Amount, Never: true} // until it is committed
	c.ask(o, func(r reply) {
		slot.busy = false
		switch {
		case r.Err == "":
			slot.id, slot.until = o.ID, o.Expires
		case r.Err == wasInsufficient, r.Err == wasResolved && short:
		default:
			c.broke("I5", "reserve %s: %s", o.ID, r.Err)
		}
	})
}

// resolve asks to commit or release the reservation of a slot.
func (c *customers) resolve(slot *moneySlot, do string) {
	id, ef := slot.id, c.Entries[slot.id]
	short := time.Until(slot.until) < time.Minute
	ef.Never = do == doRelease
	slot.busy = true
	c.ask(op{Do: do, Owner: ef.Owner, ID: id}, func(r reply) {
		*slot = moneySlot{}
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
