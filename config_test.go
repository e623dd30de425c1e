package streamwatch_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// atMost has calls for so many accounts.
type atMost struct {
	fetcher.Fetcher
	limit int
}

func (a atMost) ProbeLimit() int { return a.limit }
func (a atMost) BatchLimit() int { return a.limit }

func (atMost) Probe(context.Context, []fetcher.Account) (fetcher.Probe, error) {
	return fetcher.Probe{}, errors.New("not to be called")
}

func (atMost) Timelines(context.Context, []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	return nil, errors.New("not to be called")
}

// What would be without effect, or do harm, is refused by the name that it has in Config.
func TestConfigIsRefusedByName(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{})
	named := func(d detect.Config) []streamwatch.Source {
		return []streamwatch.Source{{Name: "masto", Fetcher: p, Detect: d}}
	}
	store, log := memory.New(memory.Options{}), slog.New(slog.DiscardHandler)
	for want, cfg := range map[string]streamwatch.Config{
		`streamwatch: Config.Fetcher is missing`:                                           {},
		`streamwatch: Config.Quotas.Rules -1 is not allowed`:                               {Fetcher: p, Quotas: streamwatch.Quotas{Rules: -1}},
		`streamwatch: Config.Quotas.MonitorAccounts -1 is not allowed`:                     {Fetcher: p, Quotas: streamwatch.Quotas{MonitorAccounts: -1}},
		`streamwatch: Config.ShutdownTimeout -1ns is not allowed`:                          {Fetcher: p, ShutdownTimeout: -1},
		`streamwatch: Config.Roles is not allowed without`:                                 {Roles: fetcher.Roles{Search: p}, Sources: named(detect.Config{})},
		`streamwatch: Config.Sources[0].Name "" is not allowed`:                            {Sources: []streamwatch.Source{{Fetcher: p}}},
		`streamwatch: Config.Sources[0].Name "did" is not allowed`:                         {Sources: []streamwatch.Source{{Name: "did", Fetcher: p}}},
		`want a name for each`:                                                             {Sources: append(named(detect.Config{}), named(detect.Config{})...)},
		`Fetcher of "a" is missing`:                                                        {Sources: []streamwatch.Source{{Name: "a"}}},
		`field Sources of "masto": detect: FetchRate -1 is not allowed`:                    {Sources: named(detect.Config{FetchRate: -1})},
		`detect: Overlap -1ns is not allowed`:                                              {Fetcher: p, Detect: detect.Config{Overlap: -1}},
		`MinInterval -1ns is not allowed`:                                                  {Fetcher: p, MinInterval: -1, DefaultInterval: time.Second},
		`webhook: Timeout -1ns is not allowed`:                                             {Fetcher: p, Webhook: webhook.Config{Timeout: -1}},
		`streamwatch: Config.Detect is not allowed without Config.Fetcher`:                 {Sources: named(detect.Config{}), Detect: detect.Config{FetchRate: 5}},
		`field Sources of "masto": detect: DeliverBy 1s is not allowed: want at least 40s`: {Sources: named(detect.Config{DeliverBy: time.Second})},
		`streamwatch: Config: dispatch: Timeout -1ns is not allowed`:                       {Fetcher: p, Deliver: dispatch.Config{Timeout: -1}},
		`streamwatch: Config: dispatch: Timeout 1h0m0s is not allowed`:                     {Fetcher: p, Deliver: dispatch.Config{Timeout: time.Hour}},
		`streamwatch: Config: rule: Parse.Dialect 99 is not allowed: want query.Union`:     {Fetcher: p, Rules: streamwatch.RuleConfig{Parse: query.Options{Dialect: 99}}},
		`streamwatch: Config: rule: Parse.MaxClauses -1 is not allowed`:                    {Fetcher: p, Rules: streamwatch.RuleConfig{Parse: query.Options{MaxClauses: -1}}},
		`streamwatch: Config: rule: Parse.MaxDepth -1 is not allowed`:                      {Fetcher: p, Rules: streamwatch.RuleConfig{Parse: query.Options{MaxDepth: -1}}},
		`streamwatch: Config.Rules.Parse.Now is not allowed`:                               {Fetcher: p, Rules: streamwatch.RuleConfig{Parse: query.Options{Now: time.Now}}},
		`streamwatch: Config: Fleet.Lease 1ms is not allowed: want 1s to 10m`:              {Fetcher: p, Fleet: &streamwatch.FleetConfig{Lease: time.Millisecond}},
		`streamwatch: Config.Deliver.Senders["handler"] is not allowed`: {Fetcher: p, Deliver: dispatch.Config{
			Senders: map[string]deliver.Sender{deliver.SchemeHandler: deliver.Handlers{}}}},
		`field Sources of "none": detect: Roles.Probe: ProbeLimit() 0 is not allowed: want at least 1`: {
			Sources: []streamwatch.Source{{Name: "none", Fetcher: p, Roles: fetcher.Roles{Probe: atMost{limit: 0}}, Detect: detect.Config{ProbeRate: 1}}}},
		`field Sources of "less": detect: Roles.Batch: BatchLimit() -1 is not allowed: want at least 1`: {
			Sources: []streamwatch.Source{{Name: "less", Fetcher: p, Roles: fetcher.Roles{Batch: atMost{limit: -1}}}}},
		`detect: Roles.Batch: BatchLimit() 0 is not allowed: want at least 1`: {Fetcher: atMost{Fetcher: p}},
	} {
		if _, err := streamwatch.New(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	// What the engine sets in its parts' Configs is refused where it is set.
	for field, cfg := range map[string]streamwatch.Config{
		"Deliver.Outbox":    {Deliver: dispatch.Config{Outbox: store.Ports().Outbox}},
		"Deliver.Endpoints": {Deliver: dispatch.Config{Endpoints: roles.Endpoints(store.Ports().Records)}},
		"Deliver.Replays":   {Deliver: dispatch.Config{Replays: store.Ports().Replays}},
		"Deliver.Logger":    {Deliver: dispatch.Config{Logger: log}},
		"Deliver.Now":       {Deliver: dispatch.Config{Now: time.Now}},
		"Webhook.Now":       {Webhook: webhook.Config{Now: time.Now}},
		"WebSocket.Events":  {WebSocket: &wshub.Options{Events: store.Ports().Log}},
		"WebSocket.Has":     {WebSocket: &wshub.Options{Has: func(context.Context, string, deliver.SourceKind, string) (bool, error) { return true, nil }}},
		"WebSocket.Logger":  {WebSocket: &wshub.Options{Logger: log}},
		"Billing.Ledger":    {Billing: &billing.MeterConfig{Ledger: store.Ports().Ledger}},
		"Billing.Streams":   {Billing: &billing.MeterConfig{Streams: noStreams{}}},
		"Billing.Logger":    {Billing: &billing.MeterConfig{Logger: log}},
		"Billing.Now":       {Billing: &billing.MeterConfig{Now: time.Now}},
	} {
		cfg.Fetcher = p
		if _, err := streamwatch.New(cfg); err == nil || !strings.Contains(err.Error(), "streamwatch: Config."+field+" is not allowed: want nil") {
			t.Errorf("%s: error %v", field, err)
		}
	}
	// DeliverBy of Config.Detect is that of all sources.
	if _, err := streamwatch.New(streamwatch.Config{Sources: named(detect.Config{}), Detect: detect.Config{DeliverBy: time.Minute}}); err != nil {
		t.Error(err)
	}
}

type noStreams struct{ billing.Streams }
