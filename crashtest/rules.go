package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

// ruleQuery finds nothing: the run tests how rules and their webhooks are created,
// changed and deleted.
const (
	ruleQuery  = `from:` + ruleAuthor + ` "nobody posts this"`
	ruleAuthor = "account0001"
)

// ruleSlot is a rule that is created, changed and deleted again and again.
type ruleSlot struct {
	busy      bool
	owner, id string
}

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

// createRule creates a rule with a webhook. If an earlier try that nobody answered has
// made it already, it returns that one.
func (s service) createRule(ctx context.Context, o op) (reply, error) {
	made, err := s.engine.Rules().Create(ctx, rule.CreateRequest{
		Owner: o.Owner, Tag: o.Name, Query: ruleQuery, Interval: time.Minute, WebhookURL: o.URL, WebhookSecret: secret.Value(o.Key),
	})
	id := made.ID
	if errors.Is(err, rule.ErrDuplicate) {
		var page rule.Page
		page, err = s.engine.Rules().List(ctx, rule.Query{Owner: o.Owner, PageSize: 100})
		i := slices.IndexFunc(page.Rules, func(r rule.Rule) bool { return r.Tag == o.Name })
		if i < 0 {
			return reply{}, errors.Join(err, monitor.ErrNotFound)
		}
		id = page.Rules[i].ID
	}
	if err != nil {
		return reply{}, err
	}
	bound, err := s.endpoints(ctx, o.Owner, id)
	return reply{Rule: id, Endpoints: bound}, err
}

// updateRule moves or removes the webhook of a rule.
func (s service) updateRule(ctx context.Context, o op) (reply, error) {
	u, err := s.engine.Rules().Update(ctx, o.Owner, o.ID, rule.UpdateRequest{WebhookURL: &o.URL})
	return reply{Rule: u.ID}, err
}
