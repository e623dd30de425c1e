package streamwatch_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// logged counts the calls that read one timeline.
type logged struct {
	fetcher.Fetcher
	calls *atomic.Int64
}

func (l logged) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	l.calls.Add(1)
	return l.Fetcher.Timeline(ctx, q)
}

// together reads several timelines in one call.
type together struct {
	*enginetest.Platform
	batches *atomic.Int64
}

func (s together) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) (pages []fetcher.Page, err error) {
	s.batches.Add(1)
	for _, q := range qs {
		pg, err := s.Timeline(ctx, q)
		pg.Err = err
		pages = append(pages, pg)
	}
	return pages, nil
}

// A wrapper around a Fetcher that shares calls goes on sharing them by Config.Roles.
func TestWrapperKeepsRoles(t *testing.T) {
	for _, row := range []struct {
		name   string
		roles  func(together) fetcher.Roles
		shares bool
	}{
		{"without Roles", func(together) fetcher.Roles { return fetcher.Roles{} }, false},
		{"with Roles", func(s together) fetcher.Roles { return fetcher.RolesOf(s) }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var alone, calls atomic.Int64
				names := enginetest.AccountNames(10)
				p := together{enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: names}), &calls}
				e := newEngine(t, streamwatch.Config{Fetcher: logged{p, &alone}, Roles: row.roles(p)})
				create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: names})
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				pass(2 * time.Minute) // all accounts are polled within the first
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if (calls.Load() > 0) != row.shares {
					t.Errorf("%d calls of one account and %d shared ones, want shared ones: %t", alone.Load(), calls.Load(), row.shares)
				}
			})
		})
	}
}

// What the engine sets in its parts' Configs is refused where it is set.
func TestSetFieldsOfTheEngineAreRefused(t *testing.T) {
	p, store := enginetest.NewPlatform(enginetest.PlatformConfig{}), memory.New(memory.Options{})
	log := slog.New(slog.DiscardHandler)
	for want, cfg := range map[string]streamwatch.Config{
		"Deliver.Outbox":    {Deliver: dispatch.Config{Outbox: store.Outbox()}},
		"Deliver.Endpoints": {Deliver: dispatch.Config{Endpoints: store.Endpoints()}},
		"Deliver.Replays":   {Deliver: dispatch.Config{Replays: store.Replays()}},
		"Deliver.Logger":    {Deliver: dispatch.Config{Logger: log}},
		"Deliver.Now":       {Deliver: dispatch.Config{Now: time.Now}},
		"Webhook.Now":       {Webhook: webhook.Config{Now: time.Now}},
		"WebSocket.Events":  {WebSocket: &wshub.Options{Events: store.Log()}},
		"WebSocket.Has": {WebSocket: &wshub.Options{Has: func(context.Context, string, deliver.SourceKind, string) (bool, error) {
			return true, nil
		}}},
		"WebSocket.Logger": {WebSocket: &wshub.Options{Logger: log}},
		"Billing.Ledger":   {Billing: &billing.MeterConfig{Ledger: store.Ledger()}},
		"Billing.Streams":  {Billing: &billing.MeterConfig{Streams: noStreams{}}},
		"Billing.Logger":   {Billing: &billing.MeterConfig{Logger: log}},
		"Billing.Now":      {Billing: &billing.MeterConfig{Now: time.Now}},
	} {
		cfg.Fetcher = p
		_, err := streamwatch.New(cfg)
		if want := "streamwatch: Config." + want + " is not allowed: want nil"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

type noStreams struct{ billing.Streams }
