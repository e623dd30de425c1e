package streamwatch_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func startEngine(t *testing.T, e *streamwatch.Engine) (stop func()) {
	t.Helper()
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}
}

func near(got, want, part float64) bool { return math.Abs(got-want) <= part*want }

func TestPlanBeforeAnythingIsSpent(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: enginetest.AccountNames(30)})
	e := newEngine(t, streamwatch.Config{Fetcher: p})
	names := enginetest.AccountNames(30)
	create(t, e, monitor.CreateRequest{Owner: "a", Name: "m", Usernames: names[:20], PollInterval: time.Minute})
	create(t, e, monitor.CreateRequest{Owner: "b", Name: "n", Usernames: names[10:], PollInterval: 30 * time.Second})
	paused := create(t, e, monitor.CreateRequest{Owner: "b", Name: "off", Usernames: names, PollInterval: 10 * time.Second})
	if _, err := e.Monitors().Pause(t.Context(), "b", paused.ID); err != nil {
		t.Fatal(err)
	}
	plan, err := e.Plan(t.Context(), 0.25, 1)
	if err != nil {
		t.Fatal(err)
	}
	// 10 accounts each minute, 20 every half: an account that both watch is polled once.
	if plan.Accounts != 30 || !near(plan.Now.CallsPerMinute, 50, 0.001) || plan.Now.LongestInterval != time.Minute || !plan.Now.Feasible {
		t.Errorf("plan %+v, want 30 accounts and 50 calls a minute", plan)
	}
	if mean := plan.Now.Mean.Seconds(); !near(mean, 20, 0.001) { // (10 × 30 s + 20 × 15 s) / 30
		t.Errorf("mean %v, want 20 s", plan.Now.Mean)
	}
	if want := (billing.Presets{}).Monitor(20).PerDay * 2; plan.CreditsPerDay != want {
		t.Errorf("%d credits a day, want %d", plan.CreditsPerDay, want)
	}
	little, much := plan.Other[0], plan.Other[1]
	if !near(little.CallsPerMinute, 15, 0.02) || little.Feasible || little.Shortfall < 30 {
		t.Errorf("with 0.25 calls a second: %+v, want 15 calls a minute, and 35 missing for the intervals", little)
	}
	if !much.Feasible || much.Mean >= plan.Now.Mean {
		t.Errorf("with 1 call a second: %+v, want better than now", much)
	}
	if p.Stats().Requests != 0 {
		t.Errorf("planning made %d requests", p.Stats().Requests)
	}
	if _, err := e.Plan(t.Context(), -1); err == nil {
		t.Error("a plan for a budget of -1")
	}
}

// A plan made while the engine runs is what then happens, as long as a poll is
// one call.
func TestPlanIsWhatHappens(t *testing.T) {
	if testing.Short() || testsize.Race {
		t.Skip("seconds of virtual polls")
	}
	lasts := time.Duration(testsize.Of(0, 120, 480)) * time.Minute
	type requests []monitor.CreateRequest
	names := enginetest.AccountNames(100)
	every := func(interval time.Duration, names []string) monitor.CreateRequest {
		return monitor.CreateRequest{Usernames: names, PollInterval: interval}
	}
	budget := func(rate float64) detect.Config { return detect.Config{Pace: detect.PaceBudget, FetchRate: rate} }
	for name, row := range map[string]struct {
		detect   detect.Config
		shared   bool    // calls
		posts    float64 // a second
		monitors requests
	}{
		"equal intervals":               {posts: 0.5, monitors: requests{every(time.Minute, names)}},
		"accounts of two monitors":      {posts: 0.5, monitors: requests{every(time.Minute, names), every(20*time.Second, names[:50])}},
		"a rate that is too small":      {detect: detect.Config{FetchRate: 0.5}, posts: 0.5, monitors: requests{every(time.Minute, names)}},
		"too small, intervals differ":   {detect: detect.Config{FetchRate: 1}, posts: 1, monitors: requests{every(10*time.Second, names[:50]), every(10*time.Minute, names[50:])}},
		"shared calls, 20 accounts":     {shared: true, posts: 0.2, monitors: requests{every(time.Minute, names[:20])}},
		"shared calls, 100 accounts":    {shared: true, posts: 0.2, monitors: requests{every(time.Minute, names)}},
		"shared calls, a small rate":    {detect: detect.Config{FetchRate: 0.1}, shared: true, posts: 0.2, monitors: requests{every(time.Minute, names)}},
		"budget":                        {detect: budget(1), posts: 0.5, monitors: requests{every(0, names)}},
		"budget, weights":               {detect: budget(1), posts: 0.5, monitors: requests{every(0, names[50:]), {Usernames: names[:50], Weight: 20}}},
		"budget, a bound of two":        {detect: budget(1), posts: 0.5, monitors: requests{every(0, names), every(20*time.Second, names[90:])}},
		"budget, shared, 100 accounts":  {detect: budget(0.2), shared: true, posts: 0.2, monitors: requests{every(0, names)}},
		"budget, shared, 5 accounts":    {detect: budget(1), shared: true, posts: 0.1, monitors: requests{every(0, names[:5])}},
		"budget, at least the interval": {detect: detect.Config{Pace: detect.PaceAtLeast, FetchRate: 1}, posts: 0.5, monitors: requests{every(30*time.Second, names)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &noted{Platform: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: watched(row.monitors)})}
				cfg := streamwatch.Config{Fetcher: n, Detect: row.detect}
				if row.shared {
					cfg.Fetcher = shared{n}
				}
				e := newEngine(t, cfg)
				for i, m := range row.monitors {
					m.Name = fmt.Sprint("m", i)
					create(t, e, m)
				}
				defer startEngine(t, e)()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go n.Run(ctx, enginetest.PostRate{PerSecond: row.posts})
				if cfg.Detect.Pace == detect.PaceInterval {
					pass(lasts)
				} else {
					pass(90 * time.Minute) // the budget learns what the accounts post
				}
				plan, err := e.Plan(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				before, from := e.Stats().Detect.Latency.Detection, time.Now()
				pass(lasts)
				found := e.Stats().Detect.Latency.Detection.Sub(before)
				calls := float64(n.since(from)) / lasts.Minutes()
				if mean := found.Mean().Seconds(); !near(mean, plan.Now.Mean.Seconds(), 0.15) {
					t.Errorf("mean %.1f s, planned %v", mean, plan.Now.Mean)
				}
				if !near(calls, plan.Now.CallsPerMinute, 0.12) {
					t.Errorf("%.2f calls a minute, planned %.2f", calls, plan.Now.CallsPerMinute)
				}
			})
		})
	}
}

func TestMonitorsWithoutAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: enginetest.AccountNames(3)})
		store := memory.New(memory.Options{})
		budget := detect.Config{Pace: detect.PaceBudget, FetchRate: 1}
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Detect: budget})
		free := create(t, e, monitor.CreateRequest{Name: "free", Usernames: enginetest.AccountNames(2), Weight: 2})
		if free.PollInterval != 0 || free.Weight != 2 {
			t.Errorf("%+v, want no interval: the budget sets the pace", free)
		}
		stop := startEngine(t, e)
		pass(time.Minute)
		if st, ok, err := e.Account(t.Context(), "account0001"); err != nil || !ok || st.Interval != 0 || st.LastPoll.IsZero() {
			t.Errorf("%+v %v %v", st, ok, err)
		}
		before := p.Stats().Requests
		for range 10 {
			if err := e.Spend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := p.Stats().Requests - before; n < 5 || n > 20 {
			t.Errorf("%d polls beside 10 other calls, want the budget shared", n)
		}
		stop()

		// An engine with another pace reads what this one stored.
		e = newEngine(t, streamwatch.Config{Fetcher: p, Store: store, DefaultInterval: 20 * time.Second})
		stop = startEngine(t, e)
		pass(time.Minute)
		if st, ok, err := e.Account(t.Context(), "account0001"); err != nil || !ok || st.Interval != 20*time.Second {
			t.Errorf("%+v %v %v, want the default interval", st, ok, err)
		}
		short := create(t, e, monitor.CreateRequest{Name: "short", Usernames: enginetest.AccountNames(3), PollInterval: time.Second})
		stop()
		e = newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Detect: budget, MinInterval: 100 * time.Millisecond})
		iv := 200 * time.Millisecond
		if _, err := e.Monitors().Update(t.Context(), "", short.ID, monitor.UpdateRequest{PollInterval: &iv}); err != nil {
			t.Fatal(err)
		}
		defer startEngine(t, e)()
		if st, _, err := e.Account(t.Context(), "account0003"); err != nil || st.Interval != detect.MinBound {
			t.Errorf("%+v %v, want the least bound that a budget keeps", st, err)
		}
	})
}

func TestCausesFromPublicationToAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}, Latency: 2 * time.Second})
		slow := func(ctx context.Context, _ deliver.Event) error { pass(3 * time.Second); return nil }
		e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: slow})
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 10 * time.Second})
		defer startEngine(t, e)()
		pass(15 * time.Second)
		p.Post("nasa", "hello")
		pass(time.Minute)
		s := e.Stats()
		sum, total := 0.0, time.Duration(0)
		for _, c := range s.Causes() {
			sum += c.Share
			total += c.Mean
			switch {
			case c.Name == "fetch" && c.Mean.Round(time.Second) != 2*time.Second,
				c.Name == "send" && c.Mean.Round(time.Second) != 3*time.Second:
				t.Errorf("%+v", c)
			}
		}
		if math.Abs(sum-1) > 1e-9 || total.Round(time.Second) != s.Deliver.Total.Mean().Round(time.Second) {
			t.Errorf("shares add up to %v, means to %v, in all it took %v", sum, total, s.Deliver.Total.Mean())
		}
	})
}
