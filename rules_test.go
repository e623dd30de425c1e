package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
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
		same := createRule(t, w.e, rule.CreateRequest{Tag: "the same", Query: "(Moon)  -is:Retweet", Interval: time.Minute})
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
		st, ok, err := w.e.Query(t.Context(), "(MOON -is:retweet)")
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

// Hundreds of rules on a platform that fails and shows posts late: queries that
// are the same are polled once, every post that answers is found, once, also over
// a restart, and an edited rule takes effect within an interval.
func TestManyRulesLoseNothing(t *testing.T) {
	const queries, interval = 100, 30 * time.Second
	each := testsize.Of(2, 2, 5) // rules with the same query
	synctest.Test(t, func(t *testing.T) {
		<-time.After(1234567 * time.Nanosecond)
		names := enginetest.AccountNames(50)
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 11, Accounts: names, LateShare: 0.3, LateUpTo: 2 * time.Minute,
			Latency: 50 * time.Millisecond, Faults: enginetest.Faults{ServerError: 0.02, Truncated: 0.02, NullFields: 0.02}})
		w := &ruleWorld{Platform: p, store: memory.New(memory.Options{})}
		gaps, failed := 0, &failedSearches{Searcher: p, query: "word2"}
		tune := func(c *streamwatch.Config) {
			c.Roles.Search, c.Detect.FetchSlots = failed, 16
			c.OnGap = func(detect.Gap) { gaps++ }
		}
		w.start(t, tune)
		type wish struct {
			id, query string
			since     time.Time
		}
		var wishes []wish
		// A query has a word, some of them an author, or two, who may be watched.
		text := func(i int) string {
			switch i %= queries; i % 4 {
			case 0:
				return fmt.Sprintf("word%d from:%s", i, names[i/4])
			case 1:
				return fmt.Sprintf("word%d (from:%s OR from:%s)", i, names[i/4], names[i/4+1])
			default:
				return fmt.Sprintf("word%d", i)
			}
		}
		for i := range each * queries {
			r := createRule(t, w.e, rule.CreateRequest{Tag: fmt.Sprint("rule ", i), Query: text(i), Interval: interval, MaxResults: 100})
			wishes = append(wishes, wish{r.ID, text(i), r.Since})
		}
		create(t, w.e, monitor.CreateRequest{Name: "m", Usernames: names[:10], PollInterval: interval})
		pass(2 * interval)
		if s := w.e.Stats().Detect.Queries; s.Covered != int64(19*each) || s.Targets != 81 {
			t.Errorf("%d rules need no search, %d queries are polled: want %d and 81", s.Covered, s.Targets, 19*each)
		}
		asked, failedBefore, stillCovered := p.Searches("word2"), failed.n.Load(), p.Searches(text(0))
		r := rand.New(rand.NewPCG(3, 4))
		say := func(seconds int) {
			for range 2 * seconds {
				p.Post(names[r.IntN(len(names))], fmt.Sprintf("a word%d and a word%d", r.IntN(queries), r.IntN(queries)))
				pass(500 * time.Millisecond)
			}
		}
		say(300)
		if n, again := p.Searches("word2")-asked, int(failed.n.Load()-failedBefore); n < 10 || n-again > 11 { // repeated after a fault
			t.Errorf("%d searches, of which %d failed, in ten intervals of a query that %d rules share", n, again, each)
		}
		if n := p.Searches(text(0)) - stillCovered; n != 0 {
			t.Errorf("%d searches for a query whose author is watched", n)
		}
		// Some rules get another query while posts come.
		for i := range 20 {
			q := text(i + 2)
			u, err := w.e.Rules().Update(t.Context(), "", wishes[i].id, rule.UpdateRequest{Query: &q})
			if err != nil {
				t.Fatal(err)
			}
			wishes = append(wishes, wish{u.ID, q, u.Since})
			wishes[i].since = time.Time{} // see below
			say(1)
		}
		say(60)
		w.stop()
		say(60)
		w.start(t, tune)
		say(120)
		pass(5 * time.Minute)
		w.stop()

		posted := p.Posted()
		type owed struct{ rule, post string }
		want := map[owed]bool{}
		edited := map[string]bool{}
		for _, wish := range wishes {
			program, _, err := query.Parse(wish.query, query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if wish.since.IsZero() { // what it got before its edit is not looked at
				edited[wish.id] = true
				continue
			}
			for _, truth := range posted {
				tw := fetcher.Tweet{ID: truth.ID, Text: truth.Text, Username: truth.Account, PublishedAt: truth.PublishedAt}
				if !truth.PublishedAt.Before(wish.since.Truncate(time.Millisecond)) && program.Match(&tw) {
					want[owed{wish.id, truth.ID}] = true
				}
			}
		}
		lost, doubled, wrong := 0, 0, 0
		for o := range want {
			switch n := w.in.got[o.rule][o.post]; {
			case n == 0:
				lost++
			case n > 1:
				doubled++
			}
		}
		for id, posts := range w.in.got {
			for post := range posts {
				if !want[owed{id, post}] && !edited[id] && strings.HasPrefix(id, "rul_") {
					wrong++
				}
			}
		}
		if len(want) < 1000*each || lost+doubled+wrong > 0 || gaps > 0 {
			t.Errorf("of %d owed events %d were lost, %d doubled; %d were not owed; %d gaps", len(want), lost, doubled, wrong, gaps)
		}
		if s := w.e.Stats().Detect; s.Queries.Errors == 0 || s.Queries.Latency.Detection.Count() == 0 {
			t.Errorf("too quiet a run: %+v", s.Queries)
		}
	})
}

// A rule is charged by the minute, as a monitor is, and pauses when the credits do
// not cover the next hour; after a top-up it has what was published meanwhile.
func TestRulesAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRuleWorld(t, func(c *streamwatch.Config) { c.Billing = &billing.MeterConfig{} })
		defer func() { w.stop() }()
		credit(t, w.store.Ports().Ledger, "invoice 1", 80) // of 1,500 a day: 62.5 an hour
		r := createRule(t, w.e, rule.CreateRequest{Owner: "acme", Query: "moon", Interval: time.Minute})
		wants := func(when string, status rule.Status, reason string) {
			t.Helper()
			got, err := w.e.Rules().Get(t.Context(), "acme", r.ID)
			if err != nil || got.Status != status || got.StatusReason != reason {
				t.Errorf("%s: %s %q %v, want %s %q", when, got.Status, got.StatusReason, err, status, reason)
			}
		}
		pass(10 * time.Minute)
		w.Post("nasa", "moon while it runs")
		wants("with credits", rule.Active, "")
		pass(20 * time.Minute)
		wants("without credits for an hour", rule.Paused, rule.ReasonCredits)
		w.Post("nasa", "moon while it is paused")
		pass(5 * time.Hour)
		w.wants(t, "paused rule", r.ID, "moon while it runs")
		credit(t, w.store.Ports().Ledger, "invoice 2", 1000)
		pass(3 * time.Minute)
		wants("after a top-up", rule.Active, "")
		w.wants(t, "rule", r.ID, "moon while it runs", "moon while it is paused")
		page, err := w.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", SourceID: r.ID})
		if err != nil || page.Total < 15 || page.Total > 25 || page.Entries[0].SourceName != "moon" {
			t.Errorf("%d charges %v", page.Total, err)
		}
	})
}

// onlyTimelines is a Fetcher and no Searcher.
type onlyTimelines struct{ fetcher.Fetcher }

// What keeps a rule from finding posts is its status reason: an engine that can
// not search, and a platform that refuses the query. Others run all the same.
func TestWhatKeepsARuleFromRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRuleWorld(t, nil)
		anybody := createRule(t, w.e, rule.CreateRequest{Query: "moon"})
		own := createRule(t, w.e, rule.CreateRequest{Query: "moon from:nasa"})
		reason := func(id string) string {
			t.Helper()
			r, err := w.e.Rules().Get(t.Context(), "", id)
			if err != nil || r.Status != rule.Active {
				t.Errorf("%+v %v, want it active", r, err)
			}
			return r.StatusReason
		}
		pass(time.Minute)
		w.stop()
		w.start(t, func(c *streamwatch.Config) { c.Fetcher = onlyTimelines{w.Platform} })
		w.Post("nasa", "moon")
		pass(time.Minute)
		if got := reason(anybody.ID); !strings.HasPrefix(got, rule.ReasonUpstream+"detect: no Searcher") {
			t.Errorf("reason %q", got)
		}
		if got := reason(own.ID); got != "" {
			t.Errorf("reason %q of a rule that timelines serve", got)
		}
		w.wants(t, "rule of one account", own.ID, "moon")
		if _, err := w.e.Rules().Create(t.Context(), rule.CreateRequest{Tag: "sun", Query: "sun", Interval: time.Minute}); !errors.Is(err, detect.ErrNoSearcher) {
			t.Errorf("created without a Searcher: %v", err)
		}
		w.stop()
		w.start(t, nil) // which can search
		pass(time.Minute)
		if got := reason(anybody.ID); got != "" {
			t.Errorf("reason %q of a rule that runs again", got)
		}
		w.wants(t, "rule of anybody", anybody.ID, "moon")
		w.SetSuspended("nasa", true)
		w.stop()
		w.start(t, func(c *streamwatch.Config) { c.Fetcher = onlyTimelines{w.Platform} })
		pass(30 * time.Minute)
		if got := reason(own.ID); !strings.HasPrefix(got, rule.ReasonUpstream+"@nasa: ") {
			t.Errorf("reason %q of a rule whose account cannot be read", got)
		}
		w.stop()
	})
}
