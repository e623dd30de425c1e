package streamwatch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// ruleInbox counts what the handler gets, by source and post.
type ruleInbox struct {
	mu  sync.Mutex
	got map[string]map[string]int
}

func (in *ruleInbox) handle(_ context.Context, ev deliver.Event) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.got == nil {
		in.got = map[string]map[string]int{}
	}
	if in.got[ev.Source.ID] == nil {
		in.got[ev.Source.ID] = map[string]int{}
	}
	in.got[ev.Source.ID][ev.TweetID]++
	return nil
}

// of gives the texts of what a source got, twice what it got twice.
func (in *ruleInbox) of(p *enginetest.Platform, id string) []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var out []string
	for _, truth := range p.Posted() {
		for range in.got[id][truth.ID] {
			out = append(out, truth.Text)
		}
	}
	return out
}

func createRule(t *testing.T, e *streamwatch.Engine, q rule.CreateRequest) rule.Created {
	t.Helper()
	if q.Interval == 0 && q.Schedule == "" {
		q.Interval = 10 * time.Second
	}
	if q.Tag == "" {
		q.Tag = q.Query
	}
	r, err := e.Rules().Create(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ruleWorld is an engine on a platform with three accounts, in a bubble.
type ruleWorld struct {
	*enginetest.Platform
	e     *streamwatch.Engine
	in    ruleInbox
	store *memory.Store
	stop  func()
}

func newRuleWorld(t *testing.T, tune func(*streamwatch.Config)) *ruleWorld {
	<-time.After(1234567 * time.Nanosecond) // off the whole second
	w := &ruleWorld{Platform: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa", "jaxa"}}),
		store: memory.New(memory.Options{})}
	w.start(t, tune)
	return w
}

// start starts an engine on the world's store.
func (w *ruleWorld) start(t *testing.T, tune func(*streamwatch.Config)) {
	cfg := streamwatch.Config{Fetcher: w.Platform, Store: w.store, OnEvent: w.in.handle}
	if tune != nil {
		tune(&cfg)
	}
	w.e = newEngine(t, cfg)
	w.stop = startEngine(t, w.e)
}

func (w *ruleWorld) wants(t *testing.T, what, id string, want ...string) {
	t.Helper()
	if got := w.in.of(w.Platform, id); !slices.Equal(got, want) {
		t.Errorf("%s got %q, want %q", what, got, want)
	}
}

func TestRuleFindsPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRuleWorld(t, nil)
		defer func() { w.stop() }()
		w.Post("nasa", "moon before")
		pass(time.Millisecond)
		r := createRule(t, w.e, rule.CreateRequest{Query: "moon -is:retweet"})
		same := createRule(t, w.e, rule.CreateRequest{Tag: "the same", Query: "(moon)  -is:retweet", Interval: time.Minute})
		mon := create(t, w.e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Minute})
		pass(time.Second)
		w.Post("nasa", "moon")
		w.Post("esa", "the Moon!")
		w.Post("jaxa", "sun")
		pass(10 * time.Second)
		w.wants(t, "rule", r.ID, "moon", "the Moon!")
		w.wants(t, "rule of the same query", same.ID, "moon", "the Moon!")
		pass(time.Minute)
		w.wants(t, "monitor", mon.ID, "moon")
		if n := w.Searches(`moon -is:retweet`); n != 9 {
			t.Errorf("%d searches in 71 s of two rules that share one, want 9: one for each at once, and 7 after", n)
		}
		st, ok, err := w.e.Query(t.Context(), "(moon -is:retweet)")
		if err != nil || !ok || st.Sources != 2 || st.Interval != 10*time.Second {
			t.Errorf("status %+v %t %v", st, ok, err)
		}
	})
}

func TestPausedRuleFindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRuleWorld(t, nil)
		defer func() { w.stop() }()
		ctx := t.Context()
		r := createRule(t, w.e, rule.CreateRequest{Query: "moon"})
		do := func(_ rule.Rule, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		do(w.e.Rules().Pause(ctx, "", r.ID))
		w.Post("nasa", "moon while paused")
		pass(time.Minute)
		do(w.e.Rules().Resume(ctx, "", r.ID))
		w.Post("nasa", "moon after")
		pass(time.Minute)
		do(w.e.Rules().Suspend(ctx, "", r.ID, rule.ReasonCredits))
		asked := w.Searches("moon")
		w.Post("nasa", "moon while suspended")
		pass(24 * time.Hour)
		if n := w.Searches("moon"); n != asked {
			t.Errorf("a suspended rule was polled %d times", n-asked)
		}
		do(w.e.Rules().Restore(ctx, "", r.ID, rule.ReasonCredits))
		pass(time.Minute)
		w.wants(t, "rule", r.ID, "moon after", "moon while suspended")
		if err := w.e.Rules().Delete(ctx, "", r.ID); err != nil {
			t.Fatal(err)
		}
		asked = w.Searches("moon")
		pass(time.Minute)
		if n := w.Searches("moon"); n != asked {
			t.Errorf("a deleted rule was polled %d times", n-asked)
		}
	})
}

func TestRulesGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRuleWorld(t, nil)
		r := createRule(t, w.e, rule.CreateRequest{Query: "moon"})
		pass(time.Minute)
		w.Post("nasa", "moon 1")
		pass(time.Minute)
		w.stop()
		w.Post("nasa", "moon 2")
		pass(time.Hour)
		w.Post("nasa", "moon 3")
		w.start(t, nil)
		pass(time.Minute)
		w.stop()
		w.wants(t, "rule", r.ID, "moon 1", "moon 2", "moon 3")
	})
}
