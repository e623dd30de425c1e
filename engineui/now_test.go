package engineui_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/fetcher"
)

// has reports what the text of a page lacks.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if text := plain(page); !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
}

// Windows show what happened in them, and nothing before.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, page := get(w, "operator", "/")
		has(t, page, "Last 5 minutes Measured over 250 ms.", "No events in this time. Last hour")
		w.post("acme_news", "a post")
		w.post("acme_news", "another post")
		_, page = get(w, "operator", "/")
		has(t, page, "Last 5 minutes: 2 events Measured over 6.2 s.", "Last hour: 2 events Measured over 6.2 s.", "delivered", "delivered 650 ms 650 ms 650 ms")
		sound(t, page)
		<-time.After(6 * time.Minute)
		_, page = get(w, "operator", "/")
		has(t, page, "Last 5 minutes Measured over 5 min", "No events in this time. Last hour: 2 events Measured over 6 min 6 s.")
		w.post("globex_news", "a post of another")
		<-time.After(57 * time.Minute)
		_, page = get(w, "operator", "/")
		has(t, page, "Last hour: 1 events Measured over 1 h")
		sound(t, page)
		_, page = get(w, "acme", "/")
		if strings.Contains(page, "Latency") || strings.Contains(page, "Measured") {
			t.Error("a customer is shown figures of the engine")
		}
	})
}

// The figures are those of the engine's own histograms.
func TestLatencyIsTheEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range 5 {
			w.post("acme_news", "a post")
		}
		st := w.engine.Stats()
		_, page := get(w, "operator", "/")
		total := st.Deliver.Total
		has(t, page, "delivered "+short(total.Quantile(0.5))+" "+short(total.Quantile(0.95))+" "+short(total.Quantile(0.99)))
	})
}

// short is a duration below a second as pages show it.
func short(d time.Duration) string {
	return d.Round(time.Millisecond).String()[:len(d.Round(time.Millisecond).String())-2] + " ms"
}

// A plan is made when somebody looks, once a minute at most, and shows its age.
func TestForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, page := get(w, "operator", "/")
		has(t, page, "The plan is being made.")
		synctest.Wait()
		<-time.After(40 * time.Second)
		_, page = get(w, "operator", "/")
		has(t, page, "Of 2 accounts; planned 40.0 s ago", "mean, publication to detection 500 ms")
		<-time.After(40 * time.Second)
		_, page = get(w, "operator", "/")
		has(t, page, "planned 1 min 20 s ago")
		synctest.Wait()
		_, page = get(w, "operator", "/")
		has(t, page, "planned 0 ago")
		<-time.After(time.Hour) // nobody looks
		_, page = get(w, "operator", "/")
		has(t, page, "planned 1 h ago")
		sound(t, page)
	})
}

// What is wrong with the engine is said first.
func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if _, page := get(w, "operator", "/"); strings.Contains(page, "Not ready") {
			t.Error("an engine that works is not ready")
		}
		if err := w.engine.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, page := get(w, "operator", "/")
		has(t, page, "Not ready: streamwatch: engine is not running")
	})
}

// paid is a platform that charges for posts.
type paid struct{ *enginetest.Platform }

func (p paid) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := p.Platform.Timeline(ctx, q)
	page.Billed.Posts = int64(len(page.Tweets))
	return page, err
}

// The page of sources tells of each what its platform allows, brings and charges.
func TestSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		push := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"pushed"}})
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Fetcher = paid{cfg.Fetcher.(*enginetest.Platform)}
			cfg.Detect.Cost = detect.Cost{Prices: fetcher.Prices{Post: 0.5}, Limit: 1000}
			cfg.Detect.Pace, cfg.Detect.FetchRate = detect.PaceBudget, 4
			cfg.Roles.Probe = cfg.Fetcher.(paid).Prober(enginetest.ProbeConfig{})
			cfg.Sources = []streamwatch.Source{{Name: "push", Fetcher: push, Roles: fetcher.Roles{Stream: push.Streamer(enginetest.StreamConfig{})}}}
		})
		w.post("acme_news", "a post")
		_, page := get(w, "operator", "/sources")
		has(t, page, "the plan is being made")
		synctest.Wait()
		_, page = get(w, "operator", "/sources")
		sound(t, page)
		has(t, page, "default Accounts 2 Calls", "Budget 4.0 calls a second", "Charged today", "of 1 000", "Planned", "a day", "Probes", "push Accounts 0", "0 polls for a rate limit")
	})
}

// Limits that are closed are named, with the time until which they are.
func TestClosedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Fetcher = enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"acme_news", "globex_news"}, RateLimit: 3, RateWindow: time.Minute})
		})
		<-time.After(5 * time.Second)
		_, page := get(w, "operator", "/sources")
		sound(t, page)
		has(t, page, "Closed all calls wait until 2000-01-01 00:01:")
	})
}

func TestStreamsOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Roles.Stream = cfg.Fetcher.(*enginetest.Platform).Streamer(enginetest.StreamConfig{})
		})
		<-time.After(10 * time.Second)
		w.post("acme_news", "a post")
		_, page := get(w, "operator", "/sources")
		sound(t, page)
		has(t, page, "Stream of accounts State trusted Brings 2 accounts; 1 posts so far Connections 1 made")
	})
}

// The page of the fleet tells of its nodes.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, page := get(w, "operator", "/fleet")
		has(t, page, "This engine is alone on its store.")
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Fleet = &streamwatch.FleetConfig{Name: "<one>"}
			cfg.Detect.FetchRate = 8
		})
		<-time.After(3 * time.Second)
		_, page := get(w, "operator", "/fleet")
		sound(t, page)
		has(t, page, "This is the node <one> . in contact with the store", "Parts of this node 1 024 none is nobody’s", "<one> living 1.0 1 024 10.0 s", "default 8.0")
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Fleet = &streamwatch.FleetConfig{Name: "two", Weight: 3, Passive: true}
		})
		_, page := get(w, "operator", "/fleet")
		has(t, page, "two living, passive 3.0 ")
	})
}
