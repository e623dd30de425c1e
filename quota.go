package streamwatch

import (
	"context"
	"fmt"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// Quotas bound what each owner may have at a time, paused and disabled ones included;
// 0 is no bound. Lowering a quota removes nothing. Concurrent creations in one engine
// do not exceed a quota; those of several engines on one store may.
type Quotas struct {
	Monitors  int
	Rules     int
	Endpoints int
	// Accounts is how many accounts all of an owner's monitors watch together; one
	// that two monitors watch counts twice, as it is priced.
	Accounts int
	// MonitorAccounts is how many accounts one monitor watches. 0 means 100.
	MonitorAccounts int
	// Connections is how many WebSocket connections all of an owner's keys have: see
	// wshub.Options.MaxPerOwner, which it sets unless that is set. Those beyond are
	// closed with 4003.
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

// QuotaError reports that a creation would exceed one of Config.Quotas.
type QuotaError struct {
	Quota string // "monitors", "rules", "endpoints" or "accounts"
	Limit int
	Have  int // without what was asked for
	Asked int // how many more
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("streamwatch: quota of %s exceeded: %d there and %d more asked for, want at most %d", e.Quota, e.Have, e.Asked, e.Limit)
}

// within returns a *QuotaError when have + asked exceeds limit; 0 is no limit.
func within(quota string, limit, have, asked int) error {
	if limit == 0 || have+asked <= limit {
		return nil
	}
	return &QuotaError{Quota: quota, Limit: limit, Have: have, Asked: asked}
}

// monitorQuota is asked while no other monitor is changed.
func (a *admission) monitorQuota(ctx context.Context, was *monitor.Monitor, is *monitor.Monitor) error {
	q := &a.e.cfg.Quotas
	if was == nil && q.Monitors > 0 {
		page, err := a.e.store.Monitors().List(ctx, monitor.Query{Owner: is.Owner, Page: 1, PageSize: 1})
		if err != nil {
			return err
		}
		if err := within("monitors", q.Monitors, page.Total, 1); err != nil {
			return err
		}
	}
	if q.Accounts == 0 || was != nil && len(is.Accounts) <= len(was.Accounts) {
		return nil
	}
	const size = 100
	have := 0
	for page, more := 1, true; more; page++ {
		got, err := a.e.store.Monitors().List(ctx, monitor.Query{Owner: is.Owner, Page: page, PageSize: size})
		if err != nil {
			return err
		}
		for i := range got.Monitors {
			have += len(got.Monitors[i].Accounts)
		}
		more = page*size < got.Total
	}
	asked := len(is.Accounts)
	if was != nil {
		asked -= len(was.Accounts)
	}
	return within("accounts", q.Accounts, have, asked)
}

// ruleQuota is asked while no other rule is changed.
func (a *admission) ruleQuota(ctx context.Context, was *rule.Rule, is *rule.Rule) error {
	if was != nil || a.e.cfg.Quotas.Rules == 0 {
		return nil
	}
	page, err := a.e.store.Rules().List(ctx, rule.Query{Owner: is.Owner, Page: 1, PageSize: 1})
	if err != nil {
		return err
	}
	return within("rules", a.e.cfg.Quotas.Rules, page.Total, 1)
}

// newEndpoint is endpoints.Config.Admit. The next call waits until done is called.
func (a *admission) newEndpoint(ctx context.Context, owner string) (done func(), err error) {
	if err := a.erasing.check(owner, true); err != nil {
		return nil, err
	}
	if a.e.cfg.Quotas.Endpoints == 0 {
		return func() {}, nil
	}
	select {
	case a.endpoint <- struct{}{}:
		done = func() { <-a.endpoint }
	case <-ctx.Done():
		return nil, fmt.Errorf("streamwatch: %w", context.Cause(ctx))
	}
	all, err := a.e.store.Endpoints().List(ctx, owner, "")
	if err == nil {
		err = within("endpoints", a.e.cfg.Quotas.Endpoints, len(all), 1)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}
