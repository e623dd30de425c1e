package searchtimeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	"github.com/streamwatch/streamwatch/fetcher/searchtimeline"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// onlySearch is a platform that offers nothing else. It counts its searches.
type onlySearch struct {
	fetcher.Searcher
	mu            sync.Mutex
	shared, alone int
	longest       int
}

func (s *onlySearch) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	s.mu.Lock()
	if strings.Contains(q.Query, " OR ") {
		s.shared++
	} else {
		s.alone++
	}
	s.longest = max(s.longest, len(q.Query))
	s.mu.Unlock()
	return s.Searcher.Search(ctx, q)
}

func (s *onlySearch) counted() (shared, alone int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shared, alone = s.shared, s.alone
	s.shared, s.alone = 0, 0
	return shared, alone
}

// counts is how often the handler got a post.
type counts struct {
	mu  sync.Mutex
	got map[string]int
}

func (c *counts) handle(_ context.Context, ev deliver.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[ev.Source.ID+" "+ev.TweetID]++
	return nil
}

// An answer that ends with the first posts of several accounts hides none: it is no gap,
// whether the engine has polled them before or begins with that answer after a restart.
func TestFirstPostsOfAccountsAreNoGap(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			names := enginetest.AccountNames(3)
			p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: names, PageSize: 100})
			cfg := streamwatch.Config{Fetcher: newFetcher(t, searchtimeline.Config{Searcher: p}), Store: memory.New(memory.Options{}),
				OnGap: func(g detect.Gap) { t.Errorf("restart %v: gap of %s from %s to %s", restart, g.Target, g.From, g.To) }}
			in := &counts{got: map[string]int{}}
			cfg.OnEvent = in.handle
			cfg.Detect.Gather = time.Second
			start := func() (e *streamwatch.Engine, stop func()) {
				e, err := streamwatch.New(cfg)
				if err == nil {
					err = e.Start(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				return e, func() {
					if err := e.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			e, stop := start()
			if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: names, PollInterval: time.Second}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			if restart {
				stop()
			}
			const posts = 12
			for i := range posts {
				p.Post(names[i%2], fmt.Sprint("post ", i))
				<-time.After(time.Millisecond)
			}
			if restart {
				_, stop = start()
			}
			<-time.After(time.Minute)
			stop()
			if len(in.got) != posts {
				t.Errorf("restart %v: %d posts were found, want %d", restart, len(in.got), posts)
			}
		})
	}
}

// Accounts of a platform that can only be searched, which fails and shows posts
// late: every post is found, once, also over a restart and by a monitor that
// joins later, while quiet accounts share their searches and busy ones do not
// hide them.
func TestAccountsAreFoundBySearchingAlone(t *testing.T) {
	const accounts, interval = 60, 20 * time.Second
	faults := enginetest.Faults{ServerError: 0.02, Truncated: 0.02, NullFields: 0.02}
	for _, row := range []struct {
		name string
		pace detect.Pace
		size int // of a page
		// Few where many pages are read in a row: one that fails too often is a gap.
		faults enginetest.Faults
	}{
		{"long pages", detect.PaceInterval, 100, faults},
		{"short pages", detect.PaceInterval, 8, enginetest.Faults{NullFields: 0.02}},
		{"under a budget", detect.PaceBudget, 40, faults},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				<-time.After(1234567 * time.Nanosecond) // off the whole second
				names := enginetest.AccountNames(accounts)
				p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 3, Accounts: names, PageSize: row.size,
					LateShare: 0.2, LateUpTo: 5 * time.Second, Latency: 50 * time.Millisecond, Faults: row.faults})
				s := &onlySearch{Searcher: p}
				f, err := searchtimeline.New(searchtimeline.Config{Searcher: s})
				if err != nil {
					t.Fatal(err)
				}
				store := memory.New(memory.Options{})
				in := &counts{got: map[string]int{}}
				gaps := 0
				var e *streamwatch.Engine
				start := func() {
					cfg := streamwatch.Config{Fetcher: f, Store: store, OnEvent: in.handle, OnGap: func(detect.Gap) { gaps++ }}
					cfg.Detect.Shards, cfg.Detect.Pace, cfg.Detect.MaxPages = 1, row.pace, 60
					if row.pace != detect.PaceInterval {
						cfg.Detect.FetchRate = 2
					}
					if e, err = streamwatch.New(cfg); err == nil {
						err = e.Start(t.Context())
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				stop := func() {
					if err := e.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				}
				type watch struct {
					id       string
					accounts map[string]bool
					since    time.Time
				}
				var watches []watch
				monitorOf := func(name string, accounts []string) {
					m, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: name, Usernames: accounts, PollInterval: interval})
					if err != nil {
						t.Fatal(err)
					}
					w := watch{m.ID, map[string]bool{}, m.CreatedAt}
					for _, a := range accounts {
						w.accounts[a] = true
					}
					watches = append(watches, w)
				}
				rnd := rand.New(rand.NewPCG(5, 6))
				say := func(d time.Duration) {
					for end := time.Now().Add(d); time.Now().Before(end); {
						n := rnd.IntN(accounts)
						if rnd.IntN(3) == 0 {
							n = 7 // as busy as twenty others
						}
						p.Post(names[n], fmt.Sprint("post ", rnd.Int()))
						<-time.After(time.Duration(rnd.IntN(1000)) * time.Millisecond)
					}
				}
				start()
				monitorOf("all", names)
				r, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: "anybody", Query: "lift-off", Interval: interval})
				if err != nil {
					t.Fatal(err)
				}
				say(2 * time.Minute)
				monitorOf("later", names[:10])
				say(time.Minute)
				stop()
				say(time.Minute)
				start()
				say(2 * time.Minute)
				launch := p.Post(names[1], "lift-off")
				<-time.After(2 * time.Minute)
				s.counted()
				<-time.After(10 * interval) // nobody posts
				shared, alone := s.counted()
				stop()
				if in.got[r.ID+" "+launch.ID] != 1 {
					t.Error("a rule's query is not asked")
				}
				owed, lost, doubled := 0, 0, 0
				for _, w := range watches {
					for _, tr := range p.Posted() {
						if !w.accounts[tr.Account] || tr.PublishedAt.Before(w.since.Truncate(time.Millisecond)) {
							continue
						}
						owed++
						switch n := in.got[w.id+" "+tr.ID]; {
						case n == 0:
							lost++
						case n > 1:
							doubled++
						}
					}
				}
				if owed < 500 || lost+doubled+gaps > 0 || s.longest > 512 {
					t.Errorf("of %d owed events %d were lost, %d doubled; %d gaps; the longest query has %d characters", owed, lost, doubled, gaps, s.longest)
				}
				if row.size == 100 && shared+alone > 10*accounts/4 {
					t.Errorf("%d searches for several accounts and %d for one in ten quiet intervals of %d accounts", shared, alone, accounts)
				}
			})
		})
	}
}
