package streamwatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
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
	for want, cfg := range map[string]streamwatch.Config{
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
		if _, err := streamwatch.New(cfg); err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(), "streamwatch: Config: "), strings.TrimPrefix(want, "streamwatch: Config: ")) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	// DeliverBy of Config.Detect is that of all sources.
	if _, err := streamwatch.New(streamwatch.Config{Sources: named(detect.Config{}), Detect: detect.Config{DeliverBy: time.Minute}}); err != nil {
		t.Error(err)
	}
}
