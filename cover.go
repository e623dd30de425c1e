package streamwatch

import (
	"context"
	"sync"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// admission decides whether an owner may have one more monitor, rule or endpoint. It checks the
// quotas, and whether the owner's credits cover the next hour.
type admission struct {
	e         *Engine
	turns     turns
	mayCreate sync.Map // ids of monitors and rules whose present change holds the turn to create an endpoint
	erasing   erasing
	marks     *eraseMarks
}

func newAdmission(e *Engine) *admission { return &admission{e: e} }

// Covers checks that an owner's credits cover the next hour of all of its active monitors and
// rules, and of one more at the price p. It returns billing.ErrInsufficient if they do not, or an
// error of the store. Without Config.Billing it returns nil.
//
// The managers call Covers before they create a record, resume it or raise its price, and return
// its error. They make such changes of one owner one at a time, also if several nodes of a fleet
// make them (see Quotas). So the credits cover all changes that succeed.
func (e *Engine) Covers(ctx context.Context, owner string, p billing.Price) error {
	return e.admission.covers(ctx, owner, "", p)
}

// covers is Covers for a change of the record id: it counts p instead of the record's present
// price.
func (a *admission) covers(ctx context.Context, owner, id string, p billing.Price) error {
	if a.e.meter == nil {
		return nil
	}
	prices, err := a.activePrices(ctx, owner, id)
	if err != nil {
		return err
	}
	return a.e.meter.Covers(ctx, owner, append(prices, p)...)
}

// activePrices returns the prices of an owner's active monitors and rules, except the price of the
// record whose id is but. The calling manager holds its own lock, so activePrices reads the stores.
func (a *admission) activePrices(ctx context.Context, owner, but string) (prices []billing.Price, err error) {
	err = eachPage(func() { prices = nil }, func(page int) (total int, err error) {
		got, err := a.e.store.Monitors().List(ctx, monitor.Query{Owner: owner, Status: monitor.Active, Page: page, PageSize: pageSize})
		for _, m := range got.Monitors {
			if m.ID != but {
				prices = append(prices, a.e.Price(m))
			}
		}
		return got.Total, err
	})
	if err != nil {
		return nil, err
	}
	monitors := len(prices)
	err = eachPage(func() { prices = prices[:monitors] }, func(page int) (total int, err error) {
		got, err := a.e.store.Rules().List(ctx, rule.Query{Owner: owner, Status: rule.Active, Page: page, PageSize: pageSize})
		for _, r := range got.Rules {
			if r.ID != but {
				prices = append(prices, a.e.PriceRule(r))
			}
		}
		return got.Total, err
	})
	return prices, err
}

// allowed returns an error after Shutdown. It also returns an error if the owner is being erased
// and the change would make a monitor or rule active.
func (a *admission) allowed(owner string, active bool) error {
	if err := a.open(); err != nil {
		return err
	}
	return a.erasing.check(owner, active)
}

// open returns ErrNotRunning after Shutdown.
func (a *admission) open() error {
	if a.e.life.current() == ended {
		return ErrNotRunning
	}
	return nil
}

// monitor implements monitor.Config.Admit. If a change is within the owner's quotas and does not
// raise the price, monitor allows it without a check of the owner's credits.
func (a *admission) monitor(ctx context.Context, was *monitor.Monitor, is monitor.Monitor) (done func(), err error) {
	if err := a.allowed(is.Owner, is.Status == monitor.Active); err != nil {
		return nil, err
	}
	counted, err := a.monitorQuota(ctx, was, &is)
	if err != nil {
		return nil, err
	}
	var paid billing.Price
	if was != nil && was.Status == monitor.Active {
		paid = a.e.Price(*was)
	}
	done, err = a.admit(ctx, is.Owner, is.ID, is.Status == monitor.Active, paid, a.e.Price(is))
	if err != nil {
		counted()
		return nil, err
	}
	from := ""
	if was != nil {
		from = was.WebhookURL
	}
	return a.webhookTurn(ctx, source(is), was == nil, from, is.WebhookURL, both(counted, done))
}

// rule implements rule.Config.Admit. It first checks whether the platform can run the rule, then
// the quotas and credits. Otherwise an owner might delete rules or buy credits for a rule that is
// then refused.
func (a *admission) rule(ctx context.Context, was *rule.Rule, is rule.Rule) (done func(), err error) {
	if err := a.allowed(is.Owner, is.Status == rule.Active); err != nil {
		return nil, err
	}
	if is.Status == rule.Active && (was == nil || was.Status != rule.Active || was.Query != is.Query || was.Schedule != is.Schedule) {
		if err := (ruleTracker{a.e}).runnable(is); err != nil {
			return nil, err
		}
	}
	counted, err := a.ruleQuota(ctx, was, &is)
	if err != nil {
		return nil, err
	}
	var paid billing.Price
	if was != nil && was.Status == rule.Active {
		paid = a.e.PriceRule(*was)
	}
	done, err = a.admit(ctx, is.Owner, is.ID, is.Status == rule.Active, paid, a.e.PriceRule(is))
	if err != nil {
		counted()
		return nil, err
	}
	from := ""
	if was != nil {
		from = was.WebhookURL
	}
	return a.webhookTurn(ctx, ruleSource(is), was == nil, from, is.WebhookURL, both(counted, done))
}

// admit allows a change of a monitor or rule if the owner's credits cover the new price, or if the
// new price is not above the price paid now. The owner's next change of this kind, on any node,
// waits until done is called.
func (a *admission) admit(ctx context.Context, owner, id string, active bool, paid, price billing.Price) (done func(), err error) {
	if a.e.meter == nil || !active || price.PerDay <= paid.PerDay {
		return func() {}, nil
	}
	if done, err = a.turn(ctx, owner, "cover"); err != nil {
		return nil, err
	}
	if err := a.covers(ctx, owner, id, price); err != nil {
		done()
		return nil, err
	}
	return done, nil
}
