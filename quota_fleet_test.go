package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// holding is a store that keeps creations waiting until leave is closed, and then makes
// them, whatever their contexts say by then.
type holding struct {
	*memory.Store
	leave chan struct{}
}

func (h holding) Monitors() monitor.Store          { return holdingMonitors{h.Store.Monitors(), h} }
func (h holding) Rules() rule.Store                { return holdingRules{h.Store.Rules(), h} }
func (h holding) Endpoints() deliver.EndpointStore { return holdingEndpoints{h.Store.Endpoints(), h} }

type holdingMonitors struct {
	monitor.Store
	h holding
}

func (m holdingMonitors) Create(ctx context.Context, r monitor.Monitor) error {
	<-m.h.leave
	return m.Store.Create(context.WithoutCancel(ctx), r)
}

type holdingRules struct {
	rule.Store
	h holding
}

func (m holdingRules) Create(ctx context.Context, r rule.Rule) error {
	<-m.h.leave
	return m.Store.Create(context.WithoutCancel(ctx), r)
}

type holdingEndpoints struct {
	deliver.EndpointStore
	h holding
}

func (m holdingEndpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	<-m.h.leave
	return m.EndpointStore.Create(context.WithoutCancel(ctx), e)
}

// twoNodes are two nodes of a fleet; what one creates waits in the store until leave is
// closed.
func twoNodes(t *testing.T, q streamwatch.Quotas) (one, two *streamwatch.Engine, leave chan struct{}) {
	t.Helper()
	store := memory.New(memory.Options{})
	leave = make(chan struct{})
	node := func(name string, s storage.Store) *streamwatch.Engine {
		return newEngine(t, streamwatch.Config{
			Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: s, Quotas: q,
			Fleet: &streamwatch.FleetConfig{Name: name},
		})
	}
	return node("one", holding{store, leave}), node("two", store), leave
}

var creations = map[string]func(ctx context.Context, e *streamwatch.Engine, owner, name string) error{
	"monitors": func(ctx context.Context, e *streamwatch.Engine, owner, name string) error {
		_, err := e.Monitors().Create(ctx, monitor.CreateRequest{Owner: owner, Name: name, Usernames: []string{"nasa"}})
		return err
	},
	"accounts": func(ctx context.Context, e *streamwatch.Engine, owner, name string) error {
		_, err := e.Monitors().Create(ctx, monitor.CreateRequest{Owner: owner, Name: name, Usernames: []string{"nasa"}})
		return err
	},
	"rules": func(ctx context.Context, e *streamwatch.Engine, owner, name string) error {
		_, err := e.Rules().Create(ctx, rule.CreateRequest{Owner: owner, Tag: name, Query: "from:nasa", Interval: time.Minute})
		return err
	},
	"endpoints": func(ctx context.Context, e *streamwatch.Engine, owner, name string) error {
		_, err := e.Endpoints().Create(ctx, endpoints.NewEndpoint{
			Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_x", Owner: owner}, URL: fmt.Sprintf("https://hooks.example.com/%s", name)})
		return err
	},
}

// quotaOf is a quota of one, with that name.
func quotaOf(name string) (q streamwatch.Quotas) {
	*map[string]*int{"monitors": &q.Monitors, "accounts": &q.Accounts, "rules": &q.Rules, "endpoints": &q.Endpoints}[name] = 1
	return q
}

// A node counts what an owner has only when no other node is creating more.
func TestQuotasHoldForTheWholeFleet(t *testing.T) {
	for quota, create := range creations {
		t.Run(quota, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two, leave := twoNodes(t, quotaOf(quota))
				first, second := make(chan error, 1), make(chan error, 1)
				go func() { first <- create(t.Context(), one, "ann", "a") }()
				synctest.Wait()
				go func() { second <- create(t.Context(), two, "ann", "b") }()
				synctest.Wait()
				close(leave)
				if err := <-first; err != nil {
					t.Error(err)
				}
				wantsQuota(t, <-second, streamwatch.QuotaError{Quota: quota, Limit: 1, Have: 1, Asked: 1})
			})
		})
	}
}

// A node that stands still in the middle of a creation keeps an owner's creations through
// other nodes waiting, and then refused, until its lease is over. What it stores after
// that is the only thing beyond the quota; a monitor or rule it takes back, for its own time
// is over by then.
func TestQuotaBesideANodeThatStandsStill(t *testing.T) {
	for quota, create := range creations {
		t.Run(quota, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two, leave := twoNodes(t, quotaOf(quota))
				first := make(chan error, 1)
				began := time.Now()
				go func() { first <- create(context.Background(), one, "ann", "a") }()
				synctest.Wait()
				if err := create(t.Context(), two, "ann", "b"); !errors.Is(err, streamwatch.ErrBusy) || time.Since(began) != time.Second {
					t.Errorf("%v after %s, want ErrBusy after 1s", err, time.Since(began))
				}
				<-time.After(20 * time.Second)
				if err := create(t.Context(), two, "ann", "b"); !errors.Is(err, streamwatch.ErrBusy) {
					t.Errorf("before the lease is over: %v, want ErrBusy", err)
				}
				<-time.After(time.Second)
				if err := create(t.Context(), two, "ann", "b"); err != nil {
					t.Errorf("after it: %v", err)
				}
				close(leave)
				have := 1
				if err := <-first; err == nil {
					have = 2
				} else if quota == "endpoints" {
					t.Error(err)
				}
				wantsQuota(t, create(t.Context(), two, "ann", "c"), streamwatch.QuotaError{Quota: quota, Limit: 1, Have: have, Asked: 1})
			})
		})
	}
}
