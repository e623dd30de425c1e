package platforms

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// counted is a platform without posts that counts what it is asked for.
type counted struct {
	mu    sync.Mutex
	asked map[string]int
}

func (c *counted) count(what string) fetcher.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	c.asked[what]++
	return fetcher.Page{}
}

func (c *counted) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return c.count(q.Username), nil
}

func (c *counted) Search(_ context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return c.count(q.Query), nil
}

// take returns the counts and begins anew.
func (c *counted) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.asked
	c.asked = nil
	return taken
}

// pass lets d pass, and all that is due by then be done.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// running runs f with platforms "a", which has a budget of a call a second, and "b",
// which polls at intervals.
func running(t *testing.T, f func(t *testing.T, s *Set, a, b *counted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b := &counted{}, &counted{}
		commits := NewCommits(func([]deliver.Delivery) {})
		var list []Platform
		for _, p := range []struct {
			name string
			f    *counted
			cfg  detect.Config
		}{{"a", a, detect.Config{Pace: detect.PaceBudget, FetchRate: 1}}, {"b", b, detect.Config{}}} {
			deps := detect.Deps{Fetcher: p.f, State: memory.New(memory.Options{}).Ports().State, Platform: p.name}
			deps.Journal, deps.OnCommit = commits.Of(p.name, &shelf{})
			d, err := detect.New(p.cfg, deps)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, Platform{Name: p.name, Detector: d, Pace: p.cfg.Pace})
		}
		s := New(list)
		ended := make(chan error, 1)
		go func() { ended <- s.Run(context.Background()) }()
		synctest.Wait()
		f(t, s, a, b)
		s.Stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a detector goes on after Stop")
		}
	})
}

func subscription(interval time.Duration, names ...string) detect.Subscription {
	sub := detect.Subscription{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "m"}, Interval: interval}
	for _, name := range names {
		sub.Accounts = append(sub.Accounts, monitor.Account{Username: name, Since: time.Now()})
	}
	return sub
}

func TestAccountsOfPlatforms(t *testing.T) {
	running(t, func(t *testing.T, s *Set, a, b *counted) {
		for _, asked := range []time.Duration{time.Millisecond, time.Minute} { // the first is too short for a budget
			if err := s.Set(t.Context(), subscription(asked, "x", "A:y", "b:z")); err != nil {
				t.Fatalf("interval %s: %v", asked, err)
			}
		}
		pass(2 * time.Second)
		a.take()
		b.take()
		pass(10 * time.Minute)
		if got := a.take(); got["x"] == 0 || got["y"] == 0 || len(got) != 2 {
			t.Errorf("a was asked for %v, want x and y", got)
		}
		if got := b.take(); got["z"] != 10 || len(got) != 1 {
			t.Errorf("b was asked for %v, want z once a minute", got)
		}
		until, err := s.ReadUntil(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		// Accounts of the first platform may be written without its name.
		if keys := slices.Sorted(maps.Keys(until)); !slices.Equal(keys, []string{"a:x", "a:y", "b:z", "x", "y"}) {
			t.Errorf("read until of %v", keys)
		}
		plans, err := s.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of := plans.ByName
		if want := (2*of["a"].Now.Mean + of["b"].Now.Mean) / 3; plans.Accounts != 3 || (plans.Now.Mean-want).Abs() > time.Millisecond ||
			plans.Now.CallsPerMinute != of["a"].Now.CallsPerMinute+of["b"].Now.CallsPerMinute || plans.Now.P95 != max(of["a"].Now.P95, of["b"].Now.P95) {
			t.Errorf("plan of all %+v, of each %+v", plans.Now, of)
		}
		planned, err := s.PlanFor([]detect.Subscription{subscription(time.Minute, "x", "A:y", "b:z")}, nil)
		if err != nil || planned.Accounts != 3 || planned.ByName["b"].Accounts != 1 {
			t.Errorf("plan for %+v: %v", planned, err)
		}

		if err := s.Set(t.Context(), subscription(time.Minute, "b:z")); err != nil {
			t.Fatal(err)
		}
		a.take()
		pass(10 * time.Minute)
		if got := a.take(); len(got) != 0 {
			t.Errorf("a is still asked for %v", got)
		}
		if err := s.Remove(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		b.take()
		pass(10 * time.Minute)
		if got := b.take(); len(got) != 0 {
			t.Errorf("b is still asked for %v", got)
		}
	})
}

func TestQueriesOfPlatforms(t *testing.T) {
	running(t, func(t *testing.T, s *Set, a, b *counted) {
		q := detect.QuerySubscription{Source: deliver.Source{Kind: deliver.SourceRule, ID: "r"}, Query: "moon", Interval: time.Minute, MaxResults: 20, Since: time.Now()}
		if err := s.SetQuery(t.Context(), "c", q); !errors.Is(err, ErrUnknown) {
			t.Errorf("error %v, want ErrUnknown", err)
		}
		if err := s.SetQuery(t.Context(), "b", q); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if got := b.take(); got["moon"] < 59 || len(a.take()) != 0 {
			t.Errorf("b was asked for %v, want the query, and a for nothing", got)
		}
		if st, ok, err := s.Query(t.Context(), "moon"); !ok || err != nil || st.Sources != 1 {
			t.Errorf("query %+v, %t, %v", st, ok, err)
		}
		if at, err := s.QueryReadUntil(t.Context(), "r"); err != nil || at.IsZero() {
			t.Errorf("read until %s, %v", at, err)
		}
		if err := s.RemoveQuery(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		b.take()
		pass(time.Hour)
		if got := b.take(); len(got) != 0 {
			t.Errorf("b is still asked for %v", got)
		}
	})
}
