package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// byPlatform remembers the events of each platform.
type byPlatform struct {
	mu  sync.Mutex
	got map[string][]deliver.Event
}

func (b *byPlatform) handle(_ context.Context, e deliver.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.got == nil {
		b.got = map[string][]deliver.Event{}
	}
	b.got[e.Platform] = append(b.got[e.Platform], e)
	return nil
}

func (b *byPlatform) of(platform string) []deliver.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got[platform])
}

// Two platforms have accounts of one name, and posts with one id.
func TestSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa"}})
		two := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa"}})
		store := memory.New(memory.Options{})
		defer store.Close(t.Context())
		var events byPlatform
		start := func() (*streamwatch.Engine, func()) {
			e := newEngine(t, streamwatch.Config{Store: store, OnEvent: events.handle, Sources: []streamwatch.Source{
				{Name: "alpha", Fetcher: one, Detect: detect.Config{FetchRate: 5}},
				{Name: "beta", Fetcher: two, CheckAccount: func(name string) error {
					if strings.Contains(name, ".") {
						return errors.New("a name without dots")
					}
					return nil
				}},
			}})
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return e, func() {
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		e, stop := start()
		m := create(t, e, monitor.CreateRequest{Name: "both", Usernames: []string{"nasa", "beta:NASA"}})
		pass(2 * time.Minute)
		a, b := one.Post("nasa", "hello"), two.Post("nasa", "hello")
		if a.ID != b.ID {
			t.Fatalf("ids %s and %s, want the same on both platforms", a.ID, b.ID)
		}
		pass(2 * time.Minute)
		for _, name := range []string{"alpha", "beta"} {
			got := events.of(name)
			if len(got) != 1 || got[0].TweetID != a.ID || got[0].Source.ID != m.ID || !strings.Contains(string(got[0].Body), `"platform":"`+name+`"`) {
				t.Errorf("events of %s: %+v", name, got)
			}
		}
		st := e.Stats()
		if st.Detect.Targets != 1 || st.Sources["alpha"].Events != 1 || st.Sources["beta"].Events != 1 {
			t.Errorf("stats of sources: %+v", st.Sources)
		}
		for _, name := range []string{"nasa", "alpha:nasa", "beta:nasa", "@beta:Nasa"} {
			if acc, ok, err := e.Account(t.Context(), name); !ok || err != nil || !strings.Contains(acc.Username, ":") {
				t.Errorf("account %s: %+v, %v, %v", name, acc, ok, err)
			}
		}
		plan, err := e.Plan(t.Context())
		if err != nil || plan.Accounts != 2 || plan.Sources["beta"].Accounts != 1 || plan.Now.CallsPerMinute != 2*plan.Sources["alpha"].Now.CallsPerMinute {
			t.Errorf("plan %+v: %v", plan, err)
		}
		if err := e.SpendOn(t.Context(), "alpha"); err != nil {
			t.Error(err)
		}
		if err := e.SpendOn(t.Context(), "gamma"); err == nil {
			t.Error("a call of an unknown source is taken from no budget")
		}
		stop()

		one.Post("nasa", "again")
		pass(time.Hour)
		e, stop = start()
		defer stop()
		pass(2 * time.Minute)
		if a, b := len(events.of("alpha")), len(events.of("beta")); a != 2 || b != 1 {
			t.Errorf("%d events of alpha and %d of beta after a restart, want 2 and 1", a, b)
		}
		two.Post("nasa", "last")
		names := []string{"nasa"}
		if _, err := e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{Usernames: &names}); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Minute)
		if st := e.Stats(); st.Sources["beta"].Targets != 0 {
			t.Errorf("beta still polls: %+v", st.Sources["beta"])
		}
	})
}

func TestSourcesRefuse(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{})
	e := newEngine(t, streamwatch.Config{Sources: []streamwatch.Source{
		{Name: "alpha", Fetcher: p},
		{Name: "beta", Fetcher: p, CheckAccount: func(string) error { return errors.New("a name without dots") }},
	}})
	for account, want := range map[string]string{
		"beta:a.b":   "want a name without dots",
		"gamma:nasa": "want an account name, alone or after the name of a source (alpha, beta) and a colon",
		"alpha:":     "want an account name after the name of the source",
	} {
		_, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: []string{account}})
		var field *monitor.FieldError
		if !errors.As(err, &field) || field.Field != "usernames" || !strings.Contains(err.Error(), want) {
			t.Errorf("account %s: error %v, want %q", account, err, want)
		}
	}
	_, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "moon", Interval: time.Minute, Platform: "gamma"})
	if err == nil || !strings.Contains(err.Error(), `platform "gamma" is not allowed: want one of alpha, beta`) {
		t.Errorf("rule: %v", err)
	}
}

// One source that is over its limit for 15 minutes leaves the others alone.
func TestSourceClosed(t *testing.T) {
	p95 := func(closed bool) (p95 time.Duration, posts int) {
		synctest.Test(t, func(t *testing.T) {
			var events byPlatform
			platforms := map[string]*enginetest.Platform{}
			var cfg streamwatch.Config
			for i, name := range []string{"a", "b", "c"} {
				p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: uint64(i), Accounts: enginetest.AccountNames(50)})
				platforms[name] = p
				var f fetcher.Fetcher = p
				if name == "a" && closed {
					from := time.Now().Add(10 * time.Minute)
					f = refusing{p, from, from.Add(15 * time.Minute)}
				}
				cfg.Sources = append(cfg.Sources, streamwatch.Source{Name: name, Fetcher: f, Detect: detect.Config{FetchRate: 2}})
			}
			cfg.OnEvent, cfg.Quotas.MonitorAccounts = events.handle, 1000
			e := newEngine(t, cfg)
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			var all []string
			for name := range platforms {
				for _, account := range enginetest.AccountNames(50) {
					all = append(all, name+":"+account)
				}
			}
			slices.Sort(all)
			create(t, e, monitor.CreateRequest{Name: "m", Usernames: all})
			pass(5 * time.Minute)
			for i := range 600 { // 40 minutes
				for _, name := range []string{"a", "b", "c"} {
					platforms[name].Post(enginetest.AccountNames(50)[i%50], fmt.Sprint(i))
				}
				pass(4 * time.Second)
			}
			pass(20 * time.Minute)
			var waits []time.Duration
			for _, name := range []string{"b", "c"} {
				for _, ev := range events.of(name) {
					waits = append(waits, ev.Latency)
				}
			}
			if n := len(events.of("a")); n != 600 {
				t.Errorf("%d posts of the source that was closed, want 600", n)
			}
			slices.Sort(waits)
			p95, posts = waits[len(waits)*95/100], len(waits)
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
		return p95, posts
	}
	open, n := p95(false)
	closed, m := p95(true)
	t.Logf("p95 of the others %s of %d posts with all open, %s of %d with one closed", open, n, closed, m)
	if n != 1200 || m != 1200 || closed > open+open/20 {
		t.Errorf("p95 of the others %s of %d posts with all open, %s of %d with one closed", open, n, closed, m)
	}
}

// refusing is a platform that is over its limit for a while.
type refusing struct {
	fetcher.Fetcher
	from, until time.Time
}

func (r refusing) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if now := time.Now(); now.After(r.from) && now.Before(r.until) {
		return fetcher.Page{}, &fetcher.RateLimitError{RetryAfter: r.until.Sub(now)}
	}
	return r.Fetcher.Timeline(ctx, q)
}
