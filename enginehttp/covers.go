package enginehttp

import (
	"context"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// A stream that the owner's credits do not carry for an hour would pause within
// a minute: it is refused before it is made, resumed or made dearer. What does
// not raise the price of what runs is let through whatever the balance.

// coversNewMonitor asks before one is made. Usernames are counted once each; how
// many are allowed is the manager's to say.
func (h *Handler) coversNewMonitor(ctx context.Context, q *monitor.CreateRequest) error {
	return h.engine.Covers(ctx, q.Owner, h.priceOf(q.Usernames))
}

// coversMonitor asks before a monitor is changed.
func (h *Handler) coversMonitor(ctx context.Context, owner, id string, q *monitor.UpdateRequest) error {
	if q.Status == nil && q.Usernames == nil {
		return nil
	}
	old, err := h.engine.Monitors().Get(ctx, owner, id)
	if err != nil {
		return err
	}
	was := h.engine.Pricing().Monitor(len(old.Accounts))
	is, after := was, old.Status
	if q.Usernames != nil {
		is = h.priceOf(*q.Usernames)
	}
	if q.Status != nil {
		after = *q.Status
	}
	if after != monitor.Active || old.Status == monitor.Active && is.PerDay <= was.PerDay {
		return nil
	}
	return h.engine.Covers(ctx, owner, is)
}

func (h *Handler) priceOf(usernames []string) billing.Price {
	accounts := make(map[string]bool, len(usernames))
	for _, name := range usernames {
		accounts[monitor.Key(name)] = true
	}
	return h.engine.Pricing().Monitor(len(accounts))
}

// coversNewRule asks before one is made.
func (h *Handler) coversNewRule(ctx context.Context, q *rule.CreateRequest) error {
	return h.engine.Covers(ctx, q.Owner, h.engine.PriceRule(rule.Rule{Interval: q.Interval, Schedule: q.Schedule}))
}

// coversRule asks before a rule is changed.
func (h *Handler) coversRule(ctx context.Context, owner, id string, q *rule.UpdateRequest) error {
	if q.Status == nil && q.Interval == nil && q.Schedule == nil {
		return nil
	}
	old, err := h.engine.Rules().Get(ctx, owner, id)
	if err != nil {
		return err
	}
	next := old
	if q.Interval != nil {
		next.Interval, next.Schedule = *q.Interval, ""
	}
	if q.Schedule != nil {
		next.Schedule = *q.Schedule
	}
	if q.Status != nil {
		next.Status = *q.Status
	}
	is := h.engine.PriceRule(next)
	if next.Status != rule.Active || old.Status == rule.Active && is.PerDay <= h.engine.PriceRule(old).PerDay {
		return nil
	}
	return h.engine.Covers(ctx, owner, is)
}
