package streamwatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// Quotas limits how many records each owner may have at a time, including paused and disabled ones.
// 0 means no limit. Lowering a quota removes nothing. The limits are for the whole fleet: nodes
// take turns to create records for an owner. A creation that does not get its turn within 1 s
// returns ErrBusy. An owner can get one record too many if a node stalls during a creation for
// longer than its turn (22 s by default) and then stores the record.
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

// within returns a *QuotaError if have + asked exceeds limit. A limit of 0 means no limit.
func within(quota string, limit, have, asked int) error {
	if limit == 0 || have+asked <= limit {
		return nil
	}
	return &QuotaError{Quota: quota, Limit: limit, Have: have, Asked: asked}
}

// monitorQuota checks the quotas of monitors and accounts. Until done is called, no other node
// creates a monitor for the owner. The caller holds the monitor manager's lock.
func (a *admission) monitorQuota(ctx context.Context, was *monitor.Monitor, is *monitor.Monitor) (done func(), err error) {
	q := &a.e.cfg.Quotas
	one := was == nil && q.Monitors > 0
	more := q.Accounts > 0 && (was == nil || len(is.Accounts) > len(was.Accounts))
	if !one && !more {
		return func() {}, nil
	}
	if done, err = a.turn(ctx, is.Owner, "monitors"); err != nil {
		return nil, err
	}
	if one {
		var page monitor.Page
		if page, err = a.e.store.Monitors().List(ctx, monitor.Query{Owner: is.Owner, Page: 1, PageSize: 1}); err == nil {
			err = within("monitors", q.Monitors, page.Total, 1)
		}
	}
	if err == nil && more {
		err = a.accountQuota(ctx, was, is)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

func (a *admission) accountQuota(ctx context.Context, was *monitor.Monitor, is *monitor.Monitor) error {
	have := 0
	err := eachPage(func() { have = 0 }, func(page int) (total int, err error) {
		got, err := a.e.store.Monitors().List(ctx, monitor.Query{Owner: is.Owner, Page: page, PageSize: pageSize})
		for i := range got.Monitors {
			have += len(got.Monitors[i].Accounts)
		}
		return got.Total, err
	})
	if err != nil {
		return err
	}
	asked := len(is.Accounts)
	if was != nil {
		asked -= len(was.Accounts)
	}
	return within("accounts", a.e.cfg.Quotas.Accounts, have, asked)
}

// pageSize is the number of records in a page of eachPage.
const pageSize = 100

// eachPage calls list for each page of a list. If the total changes between pages, a record was
// deleted and another could be missed: eachPage then starts again with the first page. It calls
// begin before each first page. The caller holds the owner's turn, so no record is added.
func eachPage(begin func(), list func(page int) (total int, err error)) error {
	for page, before := 1, 0; ; page++ {
		if page == 1 {
			begin()
		}
		total, err := list(page)
		switch {
		case err != nil:
			return err
		case page > 1 && total != before:
			page = 0
		case page*pageSize >= total:
			return nil
		}
		before = total
	}
}

// ruleQuota checks the quota of rules: see monitorQuota.
func (a *admission) ruleQuota(ctx context.Context, was *rule.Rule, is *rule.Rule) (done func(), err error) {
	if was != nil || a.e.cfg.Quotas.Rules == 0 {
		return func() {}, nil
	}
	if done, err = a.turn(ctx, is.Owner, "rules"); err != nil {
		return nil, err
	}
	page, err := a.e.store.Rules().List(ctx, rule.Query{Owner: is.Owner, Page: 1, PageSize: 1})
	if err == nil {
		err = within("rules", a.e.cfg.Quotas.Rules, page.Total, 1)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// newEndpoint implements endpoints.Config.Admit for endpoints created through Engine.Endpoints. The
// owner's next call waits until done is called.
func (a *admission) newEndpoint(ctx context.Context, owner string) (done func(), err error) {
	err = control.Admitted(ctx, a.e.grace/4, func() (err error) {
		done, err = a.endpointNow(ctx, owner)
		return err
	})
	return done, err
}

// endpointNow is like newEndpoint, but returns a *control.Later instead of waiting.
func (a *admission) endpointNow(ctx context.Context, owner string) (done func(), err error) {
	if err := a.allowed(owner, true); err != nil {
		return nil, err
	}
	if done, err = a.endpointTurn(ctx, owner, func() {}); err != nil {
		return nil, err
	}
	if _, err := a.boundEndpoint(ctx, owner); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// endpointTurn acquires the owner's turn to create an endpoint, if there is a quota of
// endpoints. It returns a function that ends the turn and then calls done. If it returns an
// error, it has already called done.
func (a *admission) endpointTurn(ctx context.Context, owner string, done func()) (func(), error) {
	if a.e.cfg.Quotas.Endpoints == 0 {
		return done, nil
	}
	turned, err := a.turn(ctx, owner, "endpoints")
	if err != nil {
		done()
		return nil, err
	}
	return both(done, turned), nil
}

// webhookTurn acquires the turn for a change of a monitor or rule that will create an endpoint: the
// record is new or has no endpoint. Other changes need no turn. webhookTurn returns an error if a
// new webhook_url needs an endpoint that would exceed the quota. It calls done as endpointTurn
// does.
func (a *admission) webhookTurn(ctx context.Context, src deliver.Source, created bool, from, to string, done func()) (func(), error) {
	if to == "" || a.e.cfg.Quotas.Endpoints == 0 {
		return done, nil
	}
	if !created {
		list, err := a.e.bound.List(ctx, src.Owner, src.ID)
		if err != nil {
			done()
			return nil, err
		}
		if ownEndpoint(list, from) >= 0 {
			return done, nil
		}
	}
	turned, err := a.endpointTurn(ctx, src.Owner, done)
	if err != nil {
		return nil, err
	}
	if from != to { // a change that keeps webhook_url may succeed without the endpoint
		if _, err := a.boundEndpoint(ctx, src.Owner); err != nil {
			turned()
			return nil, err
		}
	}
	a.mayCreate.Store(src.ID, true)
	return both(turned, func() { a.mayCreate.Delete(src.ID) }), nil
}

// lateEndpoint implements endpoints.Config.Admit for a change that does not hold the turn. When the
// change was admitted, its monitor or rule had an endpoint, but that was deleted before the change
// could move it. The change is already stored, so lateEndpoint returns ErrBusy instead of waiting.
func (a *admission) lateEndpoint(ctx context.Context, owner string) (done func(), err error) {
	done, err = a.endpointNow(ctx, owner)
	var later *control.Later
	if errors.As(err, &later) {
		return nil, ErrBusy
	}
	return done, err
}

// boundEndpoint implements endpoints.Config.Admit for a change of a monitor or rule that holds the
// turn. It checks the quota of endpoints.
func (a *admission) boundEndpoint(ctx context.Context, owner string) (done func(), err error) {
	if err := a.allowed(owner, true); err != nil {
		return nil, err
	}
	if a.e.cfg.Quotas.Endpoints > 0 {
		all, err := a.e.store.Endpoints().List(ctx, owner, "")
		if err == nil {
			err = within("endpoints", a.e.cfg.Quotas.Endpoints, len(all), 1)
		}
		if err != nil {
			return nil, err
		}
	}
	return func() {}, nil
}
