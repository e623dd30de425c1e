package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// However an engine comes by its posts, what it recorded plays.
func TestEveryWayOfPollingPlays(t *testing.T) {
	names, lasts, least := enginetest.AccountNames(4), 15*time.Minute, 40
	if testing.Short() {
		lasts, least = 4*time.Minute, 10
	}
	for _, way := range []struct {
		name     string
		cfg      func(p *enginetest.Platform, c *streamwatch.Config)
		prefix   string // of accounts
		queries  []string
		searched int // of them
		leftOut  bool
	}{
		{name: "intervals", cfg: func(*enginetest.Platform, *streamwatch.Config) {}},
		{name: "a budget", cfg: func(_ *enginetest.Platform, c *streamwatch.Config) {
			c.Detect = detect.Config{Pace: detect.PaceBudget, FetchRate: 0.5}
		}},
		{name: "a budget with bounds", cfg: func(_ *enginetest.Platform, c *streamwatch.Config) {
			c.Detect = detect.Config{Pace: detect.PaceAtLeast, FetchRate: 0.5}
		}},
		{name: "a stream", cfg: func(p *enginetest.Platform, c *streamwatch.Config) {
			c.Roles.Stream = p.Streamer(enginetest.StreamConfig{Faults: enginetest.StreamFaults{Drop: 0.1, Duplicate: 0.1}})
			c.Detect.AuditEvery = 2 * time.Minute
		}},
		{name: "probes", cfg: func(p *enginetest.Platform, c *streamwatch.Config) {
			c.Roles.Probe = p.Prober(enginetest.ProbeConfig{MissShare: 0.1, Lag: time.Second})
			c.Detect.ProbeRate = 0.2
		}},
		{name: "shared calls", cfg: func(p *enginetest.Platform, c *streamwatch.Config) { c.Roles.Batch = together{p} }},
		{name: "a named source", prefix: "fake:", cfg: func(p *enginetest.Platform, c *streamwatch.Config) {
			c.Fetcher, c.Roles = nil, fetcher.Roles{}
			c.Sources = []streamwatch.Source{{Name: "fake", Fetcher: p}}
		}},
		{name: "rules on timelines", cfg: func(*enginetest.Platform, *streamwatch.Config) {}, queries: []string{"from:" + names[0], "from:" + names[1] + " 1"}},
		{name: "a search", cfg: func(*enginetest.Platform, *streamwatch.Config) {}, queries: []string{"post"}, searched: 1},
		{name: "a stream of searches", cfg: func(p *enginetest.Platform, c *streamwatch.Config) {
			c.Roles.SearchStream = p.Streamer(enginetest.StreamConfig{Faults: enginetest.StreamFaults{Drop: 0.1, Duplicate: 0.1}})
			c.Detect.AuditEvery = 2 * time.Minute
		}, queries: []string{"post"}, searched: 1},
		{name: "searches under a budget", cfg: func(_ *enginetest.Platform, c *streamwatch.Config) {
			c.Detect = detect.Config{Pace: detect.PaceBudget, FetchRate: 0.5}
		}, queries: []string{"post"}, searched: 1},
	} {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 3, Accounts: names, PageSize: 6, LateShare: 0.3, LateUpTo: time.Minute, Latency: 50 * time.Millisecond,
					Faults: enginetest.Faults{ServerError: 0.05}})
				rec, err := recorder.New(recorder.Options{})
				if err != nil {
					t.Fatal(err)
				}
				cfg := streamwatch.Config{Fetcher: p}
				way.cfg(p, &cfg)
				e, err := streamwatch.New(rec.Wrap(cfg))
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				for i, name := range names {
					if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: name, Usernames: []string{way.prefix + name, way.prefix + names[0]}[:1+min(i, 1)], PollInterval: 20 * time.Second}); err != nil {
						t.Fatal(err)
					}
				}
				for _, q := range way.queries {
					if _, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: q, Query: q, Interval: 30 * time.Second}); err != nil {
						t.Fatal(err)
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				posting := make(chan struct{})
				go func() {
					defer close(posting)
					_ = p.Run(ctx, enginetest.PostRate{PerSecond: 0.1}) // ends with ctx
				}()
				pass(lasts)
				stop()
				<-posting
				if err := e.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
				var b bytes.Buffer
				if err := rec.Dump(&b); err != nil {
					t.Fatal(err)
				}
				played := enginetest.Replay(t, &b)
				t.Logf("%+v", played)
				if played.Accounts != len(names) || played.Queries != way.searched || played.Events < least || played.LeftOut > 0 {
					t.Errorf("played %+v: want all accounts, %d searches and their posts", played, way.searched)
				}
			})
		})
	}
}

// together reads several timelines in a call.
type together struct{ *enginetest.Platform }

// Timelines implements fetcher.BatchFetcher.
func (b together) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pages := make([]fetcher.Page, len(qs))
	for i, q := range qs {
		pg, err := b.Timeline(ctx, q)
		if err != nil && i == len(qs)-1 {
			return nil, fmt.Errorf("all: %w", err)
		}
		pages[i], pages[i].Err = pg, err
	}
	return pages, nil
}
