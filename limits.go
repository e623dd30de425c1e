package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
)

// Quotas limits how many records each owner may have at a time, including paused and disabled ones.
// 0 means no limit. Lowering a quota removes nothing. The limits are for the whole fleet: the store
// checks them in the transaction that makes the record.
type Quotas struct {
	Monitors  int
	Rules     int
	Endpoints int
	// Accounts limits how many accounts all of an owner's monitors watch together. An account
	// that two monitors watch counts twice, as in prices.
	Accounts int
	// MonitorAccounts limits how many accounts one monitor watches. 0 means 100.
	MonitorAccounts int
	// Connections limits the WebSocket connections of all of an owner's keys together. Each node of
	// a fleet counts its own. Connections above the limit are closed with code 4003. This is the
	// default of wshub.Options.MaxPerOwner.
	Connections int
}

func (q *Quotas) check() error {
	for _, f := range []struct {
		name string
		n    int
	}{{"Monitors", q.Monitors}, {"Rules", q.Rules}, {"Endpoints", q.Endpoints}, {"Accounts", q.Accounts}, {"MonitorAccounts", q.MonitorAccounts}, {"Connections", q.Connections}} {
		if f.n < 0 {
			return fmt.Errorf("streamwatch: Config.Quotas.%s %d is not allowed: want 1 or more, or 0 for no bound", f.name, f.n)
		}
	}
	return nil
}

// SetQuotas replaces Config.Quotas, also while the engine runs, except MonitorAccounts. In a fleet
// call it on every node.
func (e *Engine) SetQuotas(q Quotas) error {
	if err := q.check(); err != nil {
		return err
	}
	e.limits.quotas.Store(&q)
	if e.hub != nil && e.cfg.WebSocket.MaxPerOwner == 0 {
		e.hub.SetMaxPerOwner(q.Connections)
	}
	return nil
}

// QuotaError reports that a creation would exceed one of Config.Quotas.
type QuotaError struct {
	Quota string // "monitors", "rules", "endpoints" or "accounts"
	Limit int
	Have  int // the number before the creation
	Asked int // how many more were asked for
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("streamwatch: quota of %s exceeded: %d there and %d more asked for, want at most %d", e.Quota, e.Have, e.Asked, e.Limit)
}

// limits returns the limits of changes: the quotas, and the owner's credits.
type limits struct {
	quotas   atomic.Pointer[Quotas]
	pricing  billing.Pricing
	meter    *billing.Meter        // nil without Config.Billing
	open     func() error          // ErrNotRunning after Shutdown
	runnable func(rule.Rule) error // the error for a rule that no detector can run
	every    func(rule.Rule) time.Duration
}

// price returns the price of a rule. A rule with a schedule has the price of its shortest interval.
func (l *limits) price(r rule.Rule) billing.Price { return l.pricing.Rule(l.every(r)) }

// monitor implements monitor.Config.Limits.
func (l *limits) monitor(ctx context.Context, was *monitor.Monitor, is monitor.Monitor, endpoint bool) (list []control.Limit, err error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	more := len(is.Accounts)
	var paid billing.Credits
	if was == nil {
		list = l.quota(list, "monitors", l.quotas.Load().Monitors, is.Owner, record.Monitor, record.Count, 1)
	} else {
		more -= len(was.Accounts)
		if was.Status == monitor.Active {
			paid = l.pricing.Monitor(len(was.Accounts)).PerDay
		}
	}
	list = l.quota(list, "accounts", l.quotas.Load().Accounts, is.Owner, record.Monitor, record.Size, more)
	list = l.endpoint(list, is.Owner, endpoint)
	return l.credits(ctx, list, is.Owner, is.Status == monitor.Active, paid, l.pricing.Monitor(len(is.Accounts)).PerDay)
}

// rule implements rule.Config.Limits. It first checks whether the platform can run the rule.
// Otherwise an owner might delete rules or buy credits for a rule that is then refused.
func (l *limits) rule(ctx context.Context, was *rule.Rule, is rule.Rule, endpoint bool) (list []control.Limit, err error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	active := is.Status == rule.Active
	if active && (was == nil || was.Status != rule.Active || was.Query != is.Query || was.Schedule != is.Schedule) {
		if err := l.runnable(is); err != nil {
			return nil, err
		}
	}
	var paid billing.Credits
	if was == nil {
		list = l.quota(list, "rules", l.quotas.Load().Rules, is.Owner, record.Rule, record.Count, 1)
	} else if was.Status == rule.Active {
		paid = l.price(*was).PerDay
	}
	list = l.endpoint(list, is.Owner, endpoint)
	if !active {
		return list, nil
	}
	return l.credits(ctx, list, is.Owner, active, paid, l.price(is).PerDay)
}

// newEndpoint implements endpoints.Config.Limits.
func (l *limits) newEndpoint(_ context.Context, owner string) ([]control.Limit, error) {
	return l.endpoint(nil, owner, true), l.open()
}

func (l *limits) endpoint(list []control.Limit, owner string, made bool) []control.Limit {
	if !made {
		return list
	}
	return l.quota(list, "endpoints", l.quotas.Load().Endpoints, owner, record.Endpoint, record.Count, 1)
}

// quota adds a quota to the limits, if there is one and the change needs more of it.
func (l *limits) quota(list []control.Limit, name string, most int, owner string, kind record.Kind, of record.Measure, more int) []control.Limit {
	if most == 0 || more <= 0 {
		return list
	}
	return append(list, control.Limit{
		Limit: record.Limit{Owner: owner, Kinds: []record.Kind{kind}, Of: of, Max: int64(most)},
		Exceeded: func(have int64) error {
			return &QuotaError{Quota: name, Limit: most, Have: int(have) - more, Asked: more}
		}})
}

// credits adds the limit of the owner's credits, if a change makes the price higher than the one
// paid now: they cover the next hour of all active monitors and rules.
func (l *limits) credits(ctx context.Context, list []control.Limit, owner string, active bool, paid, price billing.Credits) ([]control.Limit, error) {
	if l.meter == nil || !active || price <= paid {
		return list, nil
	}
	covered, err := l.meter.Covered(ctx, owner)
	if err != nil {
		return nil, err
	}
	return append(list, l.prices(owner, covered)), nil
}

func (l *limits) prices(owner string, covered billing.Credits) control.Limit {
	return control.Limit{
		Limit:    record.Limit{Owner: owner, Kinds: []record.Kind{record.Monitor, record.Rule}, Status: string(monitor.Active), Of: record.Price, Max: int64(covered)},
		Exceeded: func(int64) error { return l.meter.Insufficient() },
	}
}

// Covers checks that an owner's credits cover the next hour of all of its active monitors and
// rules, and of one more at the price p. It returns billing.ErrInsufficient if they do not, or an
// error of the store. Without Config.Billing it returns nil. The managers check this with each
// change that raises a price, in the transaction that stores it.
func (e *Engine) Covers(ctx context.Context, owner string, p billing.Price) error {
	if e.meter == nil {
		return nil
	}
	covered, err := e.meter.Covered(ctx, owner)
	if err != nil {
		return err
	}
	limit := e.limits.prices(owner, covered-p.PerDay)
	_, err = e.store.Ports().Records.Apply(ctx, record.Change{Limits: []record.Limit{limit.Limit}})
	if over := new(record.LimitError); errors.As(err, &over) {
		return limit.Exceeded(over.Have)
	}
	return err
}

// newMeter returns the meter, nil without Config.Billing. In a fleet it charges the owners in this
// node's parts.
func newMeter(c *Config, ledger billing.Ledger, r *records, l *limits, m *membership) (*billing.Meter, error) {
	if c.Billing == nil {
		return nil, nil
	}
	mc := *c.Billing
	mc.Ledger, mc.Streams = ledger, streams{r, l, m.owns}
	if m != nil {
		mc.Takeover = m.takeover()
	}
	mc.Logger, mc.Now = c.Logger, r.now
	return billing.NewMeter(mc)
}

// streams implements billing.Streams. It gives billing the active monitors and rules and those
// paused for lack of credits; in a fleet, only those of owners in this node's parts.
type streams struct {
	*records
	limits *limits
	owns   func(owner string) bool
}

func (s streams) Each(ctx context.Context, fn func(billing.Stream) error) error {
	err := s.monitors.Each(ctx, func(m monitor.Monitor) error {
		paused := m.Status == monitor.Paused && m.StatusReason == monitor.ReasonCredits
		if m.Status != monitor.Active && !paused || !s.owns(m.Owner) {
			return nil
		}
		return fn(billing.Stream{Kind: billing.KindMonitor, ID: m.ID, Owner: m.Owner, Name: m.Name,
			Accounts: len(m.Accounts), Price: s.limits.pricing.Monitor(len(m.Accounts)), CreatedAt: m.CreatedAt, ChangedAt: m.UpdatedAt, Paused: paused})
	})
	if err != nil {
		return err
	}
	return s.rules.Each(ctx, func(r rule.Rule) error {
		paused := r.Status == rule.Paused && r.StatusReason == rule.ReasonCredits
		if r.Status != rule.Active && !paused || !s.owns(r.Owner) {
			return nil
		}
		return fn(billing.Stream{Kind: billing.KindRule, ID: r.ID, Owner: r.Owner, Name: r.Tag,
			Price: s.limits.price(r), CreatedAt: r.CreatedAt, ChangedAt: r.UpdatedAt, Paused: paused})
	})
}

func (s streams) Pause(ctx context.Context, st billing.Stream) (err error) {
	switch st.Kind {
	case billing.KindMonitor:
		_, err = s.monitors.Suspend(ctx, st.Owner, st.ID, monitor.ReasonCredits)
	case billing.KindRule:
		_, err = s.rules.Suspend(ctx, st.Owner, st.ID, rule.ReasonCredits)
	}
	return ignoreNotFound(err)
}

func (s streams) Resume(ctx context.Context, st billing.Stream) (err error) {
	switch st.Kind {
	case billing.KindMonitor:
		_, err = s.monitors.Restore(ctx, st.Owner, st.ID, monitor.ReasonCredits)
	case billing.KindRule:
		_, err = s.rules.Restore(ctx, st.Owner, st.ID, rule.ReasonCredits)
	}
	return ignoreNotFound(err)
}

// ignoreNotFound returns nil if err says that the record does not exist. It was deleted after Each
// had read it.
func ignoreNotFound(err error) error {
	if errors.Is(err, monitor.ErrNotFound) || errors.Is(err, rule.ErrNotFound) {
		return nil
	}
	return err
}
