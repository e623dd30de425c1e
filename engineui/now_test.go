package engineui_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
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

// down is a platform that cannot be reached at times.
type down struct {
	*enginetest.Platform
	is *atomic.Bool
}

func (d down) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if d.is.Load() {
		return fetcher.Page{}, errors.New("x509: certificate has expired")
	}
	return d.Platform.Timeline(ctx, q)
}

// The first page says what needs a person, the worst first, each with a link to where it is mended;
// an owner sees what is theirs.
func TestProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, refuses := &atomic.Bool{}, &atomic.Bool{}
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Fetcher = down{cfg.Fetcher.(*enginetest.Platform), broken}
			hook := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: hookSecret, Answer: func(enginetest.AttemptInfo) enginetest.Answer {
				if refuses.Load() {
					return enginetest.Answer{Status: 503, Body: "out of order"}
				}
				return enginetest.Answer{Status: 200}
			}})
			cfg.Webhook = webhook.Config{Transport: hook.RoundTripper()}
		})
		has(t, shows(t, w, "operator", "/"), "All well")
		refuses.Store(true)
		for range 20 {
			w.post("globex_news", "not taken")
		}
		if _, err := w.engine.Monitors().Suspend(t.Context(), "acme", w.monitor("acme"), monitor.ReasonCredits); err != nil {
			t.Fatal(err)
		}
		broken.Store(true)
		<-time.After(3 * time.Minute)
		shows(t, w, "operator", "/") // has them looked for
		<-time.After(20 * time.Second)
		shows(t, w, "operator", "/")
		synctest.Wait()
		page := shows(t, w, "operator", "/", "3 things need a person", "the default source is dead", "x509: certificate has expired",
			"hooks.globex.example.com fails", "Of globex . status 503", "acme-monitor is paused", "credits ran out", "3 broken, 0 soon", "Endpoints 1 need a person")
		endpoint := shows(t, w, "operator", follow(t, page, "endpoint?endpoint="), "failing for", "503 Service Unavailable", "out of order", "One attempt alone", "Waiting now", "the oldest for")
		shows(t, w, "operator", follow(t, page, "monitor?monitor="), "Resume")
		shows(t, w, "operator", strings.TrimSuffix(follow(t, page, "sources#source-"), "#source-"), "1 not well", "dead for")
		shows(t, w, "operator", "/sources?owner=acme", "1 not well", "dead for")
		shows(t, w, "operator", "/endpoints?state=failing", "hooks.globex.example.com", "All 2 disabled 0 failing 1 paused 0 active 1", "0.0 %")
		if !strings.Contains(endpoint, "not taken") {
			t.Error("the endpoint's page lacks its deliveries")
		}
		page = shows(t, w, "globex", "/", "1 thing needs a person", "hooks.globex.example.com fails")
		if strings.Contains(page, "x509") || strings.Contains(page, "acme") || strings.Contains(page, "Course") {
			t.Errorf("globex is shown what is not theirs: %s", plain(page))
		}
		shows(t, w, "acme", "/", "1 thing needs a person", "acme-monitor is paused")
		if page := shows(t, w, "nameless", "/"); strings.Contains(page, "x509") {
			t.Error("an owner is shown what is wrong with the whole engine")
		}
		shows(t, w, "operator", "/owner?owner=globex", "hooks.globex.example.com fails")
	})
}

// full is the state of a store that takes no writes at times.
type full struct {
	record.State
	is *atomic.Bool
}

func (f full) Swap(ctx context.Context, n record.Name, version uint64, data []byte, ttl time.Duration) (uint64, error) {
	if f.is.Load() {
		return 0, errors.New("no space left on device")
	}
	return f.State.Swap(ctx, n, version, data, ttl)
}

type fullStore struct {
	*memory.Store
	is *atomic.Bool
}

func (s fullStore) Ports() storage.Ports {
	p := s.Store.Ports()
	p.State = full{p.State, s.is}
	return p
}

// A store that takes no writes is the worst, and operators' to know.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := &atomic.Bool{}
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Store = fullStore{cfg.Store.(*memory.Store), is}
		})
		is.Store(true)
		<-time.After(20 * time.Second)
		shows(t, w, "operator", "/") // has them looked for
		synctest.Wait()
		has(t, shows(t, w, "operator", "/"), "1 thing needs a person", "Broken: The store takes no writes for", "no space left on device")
		has(t, shows(t, w, "acme", "/"), "All well")
	})
}

// The figures are those of the engine's history, of the range that is asked for.
func TestCourse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range 5 {
			w.post("acme_news", "a post")
		}
		<-time.After(90 * time.Minute)
		w.post("acme_news", "a post")
		has(t, shows(t, w, "operator", "/"), "in steps of 20 min", "Events found 6", "Acknowledged 6", "650 ms p50 of 6 of those", "mean of the same 6 deliveries", "until the poll was due")
		has(t, shows(t, w, "operator", "/?range=1h"), "in steps of 1 min", "Events found 1")
		has(t, shows(t, w, "operator", "/?range=7d"), "in steps of 2 h", "Events found 6", "Events in 2 h", "Publication to 2xx")
		if status, _ := get(w, "operator", "/?range=1y"); status != http.StatusBadRequest {
			t.Errorf("a year: status %d, want 400", status)
		}
		if page := shows(t, w, "acme", "/?range=7d"); strings.Contains(page, "Course") {
			t.Error("a customer is shown figures of the engine")
		}
	})
}

// Without a record there is a first step in place of figures of nothing.
func TestFirstSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		has(t, shows(t, w, "initech", "/"), "Nothing is watched yet", "make one")
		has(t, shows(t, w, "initech-reader", "/"), "your key may not make one")
	})
}

// A plan is made when somebody looks, once a minute at most, and shows its age.
func TestForecast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, row := range []struct {
			after time.Duration
			want  string
		}{
			{0, "Planned figures are being made; look again"}, {40 * time.Second, "Planned 40 s ago"}, {40 * time.Second, "Planned 1 min ago"}, {0, "Planned now"},
			{time.Hour, "Planned 1 h ago"}, // nobody has looked
		} {
			<-time.After(row.after)
			has(t, shows(t, w, "operator", "/sources"), row.want)
			synctest.Wait()
		}
		has(t, shows(t, w, "operator", "/sources"), "default well 2 120 planned 120", "planned 500 ms")
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
		has(t, shows(t, w, "operator", "/"), "Not ready: streamwatch: engine is not running", "What needs a person is not known yet")
		has(t, shows(t, w, "operator", "/sources"), "Sources 1")
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
		has(t, shows(t, w, "operator", "/sources"), "are being made")
		synctest.Wait()
		has(t, shows(t, w, "operator", "/sources"), "default well 2 ", "at most 4.0 a second", "0.50 today of at most 1000.00", "a day are planned", "Probes", "push well 0", "0 polls were refused for one", "Clock: theirs less ours", "0 ± 500 ms", "not measured")
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
		has(t, page, "a limit until 00:01:0", "all calls wait until 00:01:0")
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
		has(t, page, "Stream of accounts trusted ; 2 accounts, 1 posts so far; 1 connections")
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
		has(t, page, "This is the node <one> . in contact with the store", "Parts of this node 1 024 none is nobody’s", "<one> living 1.0 1 024 10 s", "default 8.0")
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Fleet = &streamwatch.FleetConfig{Name: "two", Weight: 3, Passive: true}
		})
		_, page := get(w, "operator", "/fleet")
		has(t, page, "two living, passive 3.0 ")
	})
}
