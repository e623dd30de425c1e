package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

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

// counted is a platform that counts calls.
type counted struct {
	*enginetest.Platform
	calls atomic.Int64
}

func (c *counted) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	c.calls.Add(1)
	return c.Platform.Timeline(ctx, q)
}

// shared is counted with calls of up to 20 accounts.
type shared struct{ *counted }

func (shared) BatchLimit() int { return 20 }

func (s shared) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pages := make([]fetcher.Page, len(qs))
	for i, q := range qs {
		pages[i], pages[i].Err = s.Platform.Timeline(ctx, q)
	}
	s.calls.Add(1)
	return pages, nil
}

// A plan made while the engine runs is what then happens, as long as a poll is one call.
func TestPlanIsWhatHappens(t *testing.T) {
	if testing.Short() || testsize.Race {
		t.Skip("seconds of virtual polls")
	}
	lasts := time.Duration(testsize.Of(0, 120, 480)) * time.Minute
	names := enginetest.AccountNames(100)
	every := func(interval time.Duration, names []string) monitor.CreateRequest {
		return monitor.CreateRequest{Usernames: names, PollInterval: interval}
	}
	budget := func(rate float64) detect.Config { return detect.Config{Pace: detect.PaceBudget, FetchRate: rate} }
	for name, row := range map[string]struct {
		detect   detect.Config
		shared   bool    // calls
		posts    float64 // a second
		monitors []monitor.CreateRequest
	}{
		"accounts of two monitors":    {posts: 0.5, monitors: []monitor.CreateRequest{every(time.Minute, names), every(20*time.Second, names[:50])}},
		"too small, intervals differ": {detect: detect.Config{FetchRate: 1}, posts: 1, monitors: []monitor.CreateRequest{every(10*time.Second, names[:50]), every(10*time.Minute, names[50:])}},
		"shared calls, a small rate":  {detect: detect.Config{FetchRate: 0.1}, shared: true, posts: 0.2, monitors: []monitor.CreateRequest{every(time.Minute, names)}},
		"budget, weights":             {detect: budget(1), posts: 0.5, monitors: []monitor.CreateRequest{every(0, names[50:]), {Usernames: names[:50], Weight: 20}}},
		"budget, a bound of two":      {detect: budget(1), posts: 0.5, monitors: []monitor.CreateRequest{every(0, names), every(20*time.Second, names[90:])}},
		"budget, shared":              {detect: budget(0.2), shared: true, posts: 0.2, monitors: []monitor.CreateRequest{every(0, names)}},
		"at least the interval":       {detect: detect.Config{Pace: detect.PaceAtLeast, FetchRate: 1}, posts: 0.5, monitors: []monitor.CreateRequest{every(30*time.Second, names)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &counted{Platform: platformOf(names...)}
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
				pass(max(lasts, 90*time.Minute)) // a budget learns what the accounts post
				plan, err := e.Plan(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				before, from := e.Stats().Detect.Latency.Detection, n.calls.Load()
				pass(lasts)
				mean := e.Stats().Detect.Latency.Detection.Sub(before).Mean()
				calls := float64(n.calls.Load()-from) / lasts.Minutes()
				if !near(mean.Seconds(), plan.Now.Mean.Seconds(), 0.15) || !near(calls, plan.Now.CallsPerMinute, 0.12) {
					t.Errorf("mean %s, planned %s; %.2f calls a minute, planned %.2f", mean, plan.Now.Mean, calls, plan.Now.CallsPerMinute)
				}
			})
		})
	}
}

// Where a budget sets the pace a monitor has no interval, and other calls share it. An engine with
// another pace reads what this one stored.
func TestMonitorsWithoutAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := platformOf("a", "b"), memory.New(memory.Options{})
		budget := detect.Config{Pace: detect.PaceBudget, FetchRate: 1}
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Detect: budget})
		if free := create(t, e, monitor.CreateRequest{Name: "free", Usernames: []string{"a"}, Weight: 2}); free.PollInterval != 0 {
			t.Errorf("%+v, want no interval: the budget sets the pace", free)
		}
		stop := startEngine(t, e)
		pass(time.Minute)
		before := p.Stats().Requests
		for range 10 {
			ok(t, e.Spend(t.Context()))
		}
		if n := p.Stats().Requests - before; n < 5 || n > 20 {
			t.Errorf("%d polls beside 10 other calls, want the budget shared", n)
		}
		wants := func(account string, interval time.Duration) {
			t.Helper()
			if st, known, err := e.Account(t.Context(), account); err != nil || !known || st.Interval != interval || st.LastPoll.IsZero() {
				t.Errorf("%+v %v %v, want the interval %s", st, known, err, interval)
			}
		}
		wants("a", 0)
		stop()
		e = newEngine(t, streamwatch.Config{Fetcher: p, Store: store, DefaultInterval: 20 * time.Second, MinInterval: 100 * time.Millisecond})
		create(t, e, monitor.CreateRequest{Name: "short", Usernames: []string{"b"}, PollInterval: 200 * time.Millisecond})
		stop = startEngine(t, e)
		pass(time.Minute)
		wants("a", 20*time.Second)
		wants("b", 200*time.Millisecond)
		stop()
		e = newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Detect: budget, MinInterval: 100 * time.Millisecond})
		defer startEngine(t, e)()
		pass(time.Minute)
		wants("b", detect.MinBound) // the least that a budget keeps
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

// The causes are those of all sources, of accounts and of queries.
func TestCausesOfAllSources(t *testing.T) {
	of := func(d time.Duration) latency.Snapshot {
		var h latency.Histogram
		h.Record(d)
		return h.Snapshot()
	}
	fetched := func(d time.Duration) latency.Parts { return latency.Parts{Fetch: of(d)} }
	for name, stats := range map[string]streamwatch.Stats{
		"both": {Detect: detect.Stats{Latency: fetched(time.Second), Queries: detect.QueryStats{Latency: fetched(3 * time.Second)}}},
		"two sources": {Detect: detect.Stats{Latency: fetched(time.Second)}, Sources: map[string]detect.Stats{
			"": {Latency: fetched(time.Second)}, "bluesky": {Latency: fetched(3 * time.Second)}}},
	} {
		stats.Deliver = dispatch.Stats{Handover: of(time.Second), Send: of(time.Second)}
		for _, c := range stats.Causes() {
			if c.Name == "fetch" && (c.Mean != 2*time.Second || c.Share != 0.5) {
				t.Errorf("%s: the calls took %s, %g of the time, want 2s, half of it", name, c.Mean, c.Share)
			}
		}
	}
}

// Whoever runs the engine learns of what keeps failing.
func TestOperatorIsTold(t *testing.T) {
	for name, row := range map[string]struct {
		fetch  fetchFunc
		logged string
		reason string
	}{
		"upstream down": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			return fetcher.Page{}, errors.New("connection refused")
		}, "connection refused", "upstream_error: @nasa: connection refused"},
		// Where the upstream is, and how it was reached, is not the owner's to know.
		"upstream out of reach": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			return fetcher.Page{}, &url.Error{Op: "Get", URL: "http://10.1.2.3/v1", Err: errors.New("dial tcp 10.1.2.3:80: connection refused")}
		}, "10.1.2.3", "upstream_error: @nasa: the upstream cannot be reached"},
		"fetcher panics": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) { panic("nil map") },
			"status_test.go", "upstream_error: @nasa: detect: fetcher panicked: nil map"},
		"posts without a time": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			return fetcher.Page{Tweets: []fetcher.Tweet{{ID: "1", Username: "nasa"}}}, nil
		}, "no publication time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var book heard.Output
				var mu sync.Mutex
				var troubles []detect.Trouble
				e := newEngine(t, streamwatch.Config{Fetcher: row.fetch, Logger: slog.New(slog.NewTextHandler(&book, nil)),
					OnTrouble: func(tr detect.Trouble) {
						mu.Lock()
						defer mu.Unlock()
						troubles = append(troubles, tr)
					}})
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 10 * time.Second})
				pass(30 * time.Minute)
				if !strings.Contains(book.String(), row.logged) {
					t.Errorf("the log lacks %q:\n%s", row.logged, book.String())
				}
				if n := strings.Count(book.String(), "\n"); n > 60 {
					t.Errorf("%d lines in the log for one failing account", n)
				}
				got, err := e.Monitors().Get(t.Context(), "", m.ID)
				if err != nil || got.StatusReason != row.reason {
					t.Errorf("reason %q, %v; want %q", got.StatusReason, err, row.reason)
				}
				mu.Lock()
				if row.reason != "" && (len(troubles) != 1 || troubles[0].Username != "nasa") {
					t.Errorf("OnTrouble got %v, want it once", troubles)
				}
				mu.Unlock()
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What fails shows in the stream until it has ended, also if the engine that told it has ended before.
func TestTroubleShowsUntilItEnds(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("another engine: %v", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := platformOf("nasa", "esa")
				cfg := streamwatch.Config{Fetcher: p, Store: memory.New(memory.Options{})}
				e := newEngine(t, cfg)
				stop := startEngine(t, e)
				m := create(t, e, monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"nasa", "nsaa"}})
				r := createRule(t, e, rule.CreateRequest{Owner: owner, Tag: "r", Query: "from:nsaa", Interval: time.Minute})
				pass(10 * time.Minute)
				if got := aMonitor.does(t, e, m.ID, "get"); !strings.HasPrefix(got.status, "active upstream_error: @nsaa") {
					t.Errorf("the monitor is %s, want a reason that names the account", got.status)
				}
				if got := aRule.does(t, e, r.ID, "get"); !strings.HasPrefix(got.status, "active upstream_error: @nsaa") {
					t.Errorf("the rule is %s, want a reason that names the account", got.status)
				}
				if restart {
					stop()
				}
				p.Rename("esa", "nsaa") // and now it exists
				if restart {
					e = newEngine(t, cfg)
					stop = startEngine(t, e)
				}
				pass(time.Hour)
				if m, r := aMonitor.does(t, e, m.ID, "get"), aRule.does(t, e, r.ID, "get"); m.status != "active" || r.status != "active" {
					t.Errorf("after the recovery the monitor is %s, the rule %s", m.status, r.status)
				}
				stop()
			})
		})
	}
}

// troubled is a platform with an account for each trouble. Those of bob have the same
// troubles as those of ann.
func troubled(begin time.Time) fetchFunc {
	return func(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		now := time.Since(begin)
		every, late := time.Minute, time.Second // a post a minute, visible after a second
		switch name := q.Username; {
		case strings.HasPrefix(name, "failing"):
			if name == "failing-now" && now > 20*time.Minute || name != "failing-now" && now > 10*time.Minute {
				return fetcher.Page{}, errors.New("dial tcp 10.1.2.3:80: connection refused")
			}
		case strings.HasPrefix(name, "silent"):
			now = min(now, 30*time.Minute)
		case strings.HasPrefix(name, "slow"):
			late = 40 * time.Second
		}
		var pg fetcher.Page
		for at := (now - late).Truncate(every); at > 0 && len(pg.Tweets) < 20; at -= every {
			pg.Tweets = append(pg.Tweets, fetcher.Tweet{ID: q.Username + at.String(), Username: q.Username, PublishedAt: begin.Add(at)})
		}
		if q.Username == "gappy-ann" && now > 5*time.Minute && len(pg.Tweets) > 3 {
			pg.Tweets = pg.Tweets[:1] // and so many more that one page never reaches back
			pg.Next = "more"
		}
		return pg, nil
	}
}

// An operator sees the accounts that stand worst, in order, and an owner those of its own
// sources, with errors as owners may read them.
func TestWorstAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: troubled(time.Now()), Detect: detect.Config{MaxPages: 1}})
		for owner, names := range map[string][]string{
			"ann": {"failing-ann", "failing-now", "silent-ann", "gappy-ann", "slow-ann", "sound-ann"},
			"bob": {"failing-bob", "silent-bob", "sound-bob", "sound-ann"},
		} {
			create(t, e, monitor.CreateRequest{Owner: owner, Name: "m", Usernames: names, PollInterval: 10 * time.Second})
		}
		defer startEngine(t, e)()
		pass(time.Hour)
		for _, row := range []struct {
			by    detect.WorstBy
			owner string // "" for all
			want  []string
		}{
			{detect.WorstFailing, "", []string{"failing-ann", "failing-bob", "failing-now"}},
			{detect.WorstFailing, "bob", []string{"failing-bob"}},
			{detect.WorstFailing, "eve", nil},
			{detect.WorstSilent, "ann", []string{"silent-ann"}},
			{detect.WorstSilent, "bob", []string{"silent-bob"}},
			{detect.WorstGaps, "", []string{"gappy-ann"}},
			{detect.WorstGaps, "bob", nil},
			{detect.WorstSlow, "ann", []string{"slow-ann"}},
		} {
			list, err := e.WorstAccounts(t.Context(), detect.WorstQuery{By: row.by, Owner: row.owner, All: row.owner == ""})
			var names []string
			for i, st := range list {
				if row.by == detect.WorstSilent && strings.HasPrefix(st.Username, "failing") || row.by == detect.WorstSlow && i > 0 {
					continue // who fails is silent, too; and everybody has a delay
				}
				names = append(names, st.Username)
				if hidden := !strings.Contains(st.Error, "10.1.2.3"); row.by == detect.WorstFailing && hidden != (row.owner != "") {
					t.Errorf("%q is told %q", row.owner, st.Error)
				}
				if i > 0 && st.Rank > list[i-1].Rank {
					t.Errorf("by %d: rank %g after %g", row.by, st.Rank, list[i-1].Rank)
				}
			}
			if row.by == detect.WorstFailing && row.owner == "" && len(names) == 3 {
				slices.Sort(names[:2]) // they have failed for as long
			}
			if err != nil || !slices.Equal(names, row.want) {
				t.Errorf("by %d for %q: %q, %v; want %q", row.by, row.owner, names, err, row.want)
			}
		}
		if list, err := e.WorstAccounts(t.Context(), detect.WorstQuery{By: detect.WorstFailing, All: true, Limit: 2}); len(list) != 2 || err != nil {
			t.Errorf("%d, %v, want the worst 2", len(list), err)
		}
		for _, q := range []detect.WorstQuery{{By: detect.WorstSlow + 1}, {Limit: -1}, {Limit: 1001}} {
			if _, err := e.WorstAccounts(t.Context(), q); err == nil {
				t.Errorf("%+v is allowed", q)
			}
		}
	})
}

// An account tells of its last polls. An owner is told the interval that it asks for itself, though
// the account is polled more often for another, nothing of an account of others, and no hosts.
func TestAccountOfAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: troubled(time.Now())})
		intervals := map[string]time.Duration{"ann": 10 * time.Second, "bob": time.Minute, "eve": 5 * time.Minute}
		for of, every := range intervals {
			create(t, e, monitor.CreateRequest{Owner: of, Name: "m", Usernames: []string{"failing"}, PollInterval: every})
		}
		create(t, e, monitor.CreateRequest{Owner: "ann", Name: "slow", Usernames: []string{"slow"}, PollInterval: 10 * time.Second})
		if _, err := e.WorstAccounts(t.Context(), detect.WorstQuery{}); !errors.Is(err, streamwatch.ErrNotRunning) {
			t.Errorf("before the start: %v", err)
		}
		defer startEngine(t, e)()
		pass(30 * time.Minute)
		for of, every := range intervals {
			st, known, err := e.AccountOf(t.Context(), of, "failing")
			if err != nil || !known || st.Interval != every || st.Sources != 1 || st.Polls[0].Error == "" || strings.Contains(st.Polls[0].Error+st.Error, "10.1.2.3") {
				t.Errorf("%s: %+v, %v; want an interval of %s", of, st, err, every)
			}
			worst, err := e.WorstAccounts(t.Context(), detect.WorstQuery{Owner: of})
			if err != nil || len(worst) != 1 || worst[0].Interval != every {
				t.Errorf("%s: the worst are %+v, %v; want one with an interval of %s", of, worst, err, every)
			}
		}
		if st, known, err := e.Account(t.Context(), "failing"); err != nil || !known || st.Interval != 10*time.Second || st.Sources != 3 || !strings.Contains(st.Polls[0].Error, "10.1.2.3") {
			t.Errorf("of all: %+v, %v; want an interval of 10 s", st, err)
		}
		st, known, err := e.AccountOf(t.Context(), "ann", "slow")
		if err != nil || !known || len(st.Polls) < 70 || st.Delay < 40*time.Second || st.Delay > 51*time.Second {
			t.Errorf("%d polls, delay %s, %t, %v; want 40 to 50 s", len(st.Polls), st.Delay, known, err)
		}
		if of, known, err := e.AccountOf(t.Context(), "bob", "slow"); known || err != nil || of.Username != "" || of.Polls != nil {
			t.Errorf("another owner sees %+v, %v", of, err)
		}
	})
}
