package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A change of a stream takes effect in the running engine when its call returns, and in the next
// engine on the store. What is suspended is made up for, what is paused is not.
func TestChangesTakeEffect(t *testing.T) {
	eachStream(t, func(t *testing.T, of stream) {
		p := platformOf("nasa")
		var in inbox
		cfg := streamwatch.Config{Fetcher: p, Store: memory.New(memory.Options{}), OnEvent: in.handle}
		e := newEngine(t, cfg)
		id := of.make(t, e, "s", "nasa", "")
		var stop func()
		var want []string
		for i, row := range []struct {
			do    string
			runs  bool
			finds []string // also what was posted before
		}{
			{"start", true, []string{"moon 0"}},
			{"pause", false, nil},
			{"resume", true, []string{"moon 2"}},
			{"suspend", false, nil},
			{"restore", true, []string{"moon 3", "moon 4"}},
			{"stop", false, nil},
			{"start", true, []string{"moon 5", "moon 6"}},
			{"delete", false, nil},
		} {
			switch row.do {
			case "start":
				e = newEngine(t, cfg)
				stop = startEngine(t, e)
			case "stop":
				stop()
			default:
				of.does(t, e, id, row.do)
			}
			before := p.Stats().Requests
			pass(time.Second)
			p.Post("nasa", fmt.Sprint("moon ", i))
			pass(10 * time.Minute)
			want = append(want, row.finds...)
			in.wants(t, row.do, id, want...)
			if calls := p.Stats().Requests - before; (calls > 0) != row.runs {
				t.Errorf("%s: %d calls", row.do, calls)
			}
		}
		stop()
	})
}

// A rule finds posts from its creation on, by one search for all rules of its query.
func TestRulesShareASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := platformOf("nasa", "esa", "jaxa")
		var in inbox
		e := running(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle})
		pass(1234567 * time.Nanosecond) // off the whole second
		p.Post("nasa", "moon before")
		pass(time.Millisecond)
		r := createRule(t, e, rule.CreateRequest{Tag: "r", Query: "moon -is:retweet", Interval: 10 * time.Second})
		same := createRule(t, e, rule.CreateRequest{Tag: "the same", Query: "(Moon)  -is:Retweet", Interval: time.Minute})
		pass(time.Second)
		p.Post("nasa", "moon")
		p.Post("esa", "the Moon!")
		p.Post("jaxa", "sun")
		pass(70 * time.Second)
		in.wants(t, "rule", r.ID, "moon", "the Moon!")
		in.wants(t, "rule of the same query", same.ID, "moon", "the Moon!")
		if n := p.Searches(`moon -is:retweet`); n < 8 || n > 10 {
			t.Errorf("%d searches in 71 s of two rules that share one, want 9: one for each at once, and 7 after", n)
		}
		st, known, err := e.Query(t.Context(), "(MOON -is:retweet)")
		if err != nil || !known || st.Sources != 2 || st.Interval != 10*time.Second {
			t.Errorf("status %+v %t %v", st, known, err)
		}
		p.Post("esa", "moon not polled yet")
		pass(time.Second)
		query := "moon -is:reply"
		if _, err := e.Rules().Update(t.Context(), r.Owner, r.ID, rule.UpdateRequest{Query: &query}); err != nil {
			t.Fatal(err)
		}
		pass(15 * time.Second)
		in.wants(t, "rule with a changed query", r.ID, "moon", "moon not polled yet", "the Moon!")
	})
}

// Records that another version has stored, or somebody by hand, and that this engine does not take:
// the others run, and these say why they do not. A change of the record mends it.
func TestBadRecordsStopNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store, now := platformOf("nasa", "esa"), memory.New(memory.Options{}), time.Now()
		account := func(names ...string) (list []monitor.Account) {
			for _, name := range names {
				list = append(list, monitor.Account{Username: name, Since: now})
			}
			return list
		}
		monitors := map[string]monitor.Monitor{
			"mon_a_empty": {Accounts: account("esa", ""), PollInterval: time.Second},
			"mon_b_often": {Accounts: account("esa"), PollInterval: -time.Second},
			"mon_good":    {Accounts: account("nasa"), PollInterval: time.Second},
		}
		for id, m := range monitors {
			m.ID, m.Owner, m.Name, m.Status, m.CreatedAt = id, owner, id, monitor.Active, now
			if err := roles.Monitors(store.Ports().Records).Create(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		rules := map[string]rule.Rule{
			"rule_a_query":  {Query: "from:(", Interval: time.Second, MaxResults: 10},
			"rule_b_plan":   {Query: "from:nasa", Schedule: "whenever", MaxResults: 10},
			"rule_c_source": {Query: "from:nasa", Interval: time.Second, MaxResults: 10, Platform: "elsewhere"},
			"rule_good":     {Query: "from:nasa", Interval: time.Second, MaxResults: 10},
		}
		for id, r := range rules {
			r.ID, r.Owner, r.Tag, r.Status, r.CreatedAt = id, owner, id, rule.Active, now
			if err := roles.Rules(store.Ports().Records).Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		var in inbox
		var book heard.Output
		e := running(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle, Logger: slog.New(slog.NewTextHandler(&book, nil))})
		pass(time.Minute)
		p.Post("nasa", "Lift-off")
		pass(time.Minute)
		in.wants(t, "the good monitor and the good rule", "", "Lift-off", "Lift-off")
		for id := range monitors {
			if got := aMonitor.does(t, e, id, "get"); strings.HasPrefix(got.status, "active upstream_error: detect: ") == (id == "mon_good") {
				t.Errorf("%s is %s", id, got.status)
			}
			if n := strings.Count(book.String(), "monitor="+id); (n == 1) == (id == "mon_good") {
				t.Errorf("%s is %d times in the log", id, n)
			}
		}
		for id := range rules {
			if got := aRule.does(t, e, id, "get"); (got.status == "active") != (id == "rule_good") {
				t.Errorf("%s is %s", id, got.status)
			}
		}
		_, err := e.Monitors().Update(t.Context(), owner, "mon_a_empty", monitor.UpdateRequest{Usernames: &[]string{"esa"}})
		ok(t, err)
		pass(time.Minute)
		p.Post("esa", "Docked")
		pass(time.Minute)
		in.wants(t, "the mended monitor", "mon_a_empty", "Docked")
		if got := aMonitor.does(t, e, "mon_a_empty", "get"); got.status != "active" {
			t.Errorf("mended, it is %s", got.status)
		}
	})
}

// What is changed while Start goes through the monitors holds: a monitor that is deleted is not
// watched, an account that is added is.
func TestChangesDuringStart(t *testing.T) {
	for name, row := range map[string]struct {
		change func(ctx context.Context, e *streamwatch.Engine, id string) error
		finds  []string
	}{
		"delete": {func(ctx context.Context, e *streamwatch.Engine, id string) error {
			return e.Monitors().Delete(ctx, owner, id)
		}, nil},
		"update": {func(ctx context.Context, e *streamwatch.Engine, id string) error {
			return second(e.Monitors().Update(ctx, owner, id, monitor.UpdateRequest{Usernames: &[]string{"esa"}}))
		}, []string{"esa"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, store := platformOf("nasa", "esa"), newTapped()
				var in inbox
				e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle, Store: store})
				id := aMonitor.make(t, e, "m", "nasa", "")
				store.on(func(_ context.Context, call string) error {
					if call == "Cursors" { // the first call, Start's
						store.on(nil)
						<-time.After(time.Second)
					}
					return nil
				})
				started := make(chan error, 1)
				go func() { started <- e.Start(t.Context()) }()
				pass(500 * time.Millisecond)
				ok(t, row.change(t.Context(), e, id))
				ok(t, <-started)
				pass(time.Minute)
				p.Post("nasa", "nasa")
				p.Post("esa", "esa")
				pass(time.Hour)
				in.wants(t, name, "", row.finds...)
				if n := e.Stats().Detect.Targets; n != int64(len(row.finds)) {
					t.Errorf("%d targets", n)
				}
				ok(t, e.Shutdown(t.Context()))
			})
		})
	}
}

// Delete's caller gives up while a commit is under way. The monitor is deleted all the same, and
// nothing watches it when the commit has ended.
func TestDeleteWhenItsCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := platformOf("nasa"), newTapped()
		var in inbox
		e := running(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle, Store: store})
		id := aMonitor.make(t, e, "m", "nasa", "")
		pass(20 * time.Second)
		store.on(func(_ context.Context, call string) error {
			if call == "Commit" {
				<-time.After(20 * time.Second)
			}
			return nil
		})
		p.Post("nasa", "a")
		pass(15 * time.Second) // the commit is under way
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Monitors().Delete(ctx, owner, id); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Delete: %v", err)
		}
		pass(time.Minute)
		p.Post("nasa", "b")
		pass(time.Hour)
		if _, err := e.Monitors().Get(t.Context(), owner, id); !errors.Is(err, monitor.ErrNotFound) || e.Stats().Detect.Targets != 0 {
			t.Errorf("Get = %v, targets %d", err, e.Stats().Detect.Targets)
		}
		in.wants(t, "an hour later", "", "a")
	})
}

// onlyTimelines is a Fetcher and no Searcher.
type onlyTimelines struct{ fetcher.Fetcher }

// A rule that needs a search says that this engine has none, until one has. Rules that timelines
// serve run.
func TestRuleWithoutASearcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := platformOf("nasa")
		var in inbox
		cfg := streamwatch.Config{Fetcher: p, Store: memory.New(memory.Options{}), OnEvent: in.handle}
		e := newEngine(t, cfg)
		anybody := aRule.make(t, e, "anybody", "", "")
		own := createRule(t, e, rule.CreateRequest{Owner: owner, Tag: "own", Query: "moon from:nasa", Interval: time.Minute}).ID
		for _, row := range []struct {
			fetcher   fetcher.Fetcher
			text      string
			of, ofOwn []string
			reason    string
		}{
			{onlyTimelines{p}, "moon 1", nil, []string{"moon 1"}, "active upstream_error: detect: no Searcher"},
			{p, "moon 2", []string{"moon 1", "moon 2"}, []string{"moon 1", "moon 2"}, "active"},
		} {
			cfg.Fetcher = row.fetcher
			e = newEngine(t, cfg)
			stop := startEngine(t, e)
			pass(time.Second)
			p.Post("nasa", row.text)
			pass(2 * time.Minute)
			in.wants(t, "rule of anybody", anybody, row.of...)
			in.wants(t, "rule of one account", own, row.ofOwn...)
			got, other := aRule.does(t, e, anybody, "get").status, aRule.does(t, e, own, "get").status
			if !strings.HasPrefix(got, row.reason) || row.reason == "active" && got != row.reason || other != "active" {
				t.Errorf("rule of anybody is %q, rule of one account %q; want %q and active", got, other, row.reason)
			}
			_, err := aRule.create(t.Context(), e, "more "+row.text, "", "")
			if _, searches := row.fetcher.(fetcher.Searcher); errors.Is(err, detect.ErrNoSearcher) == searches {
				t.Errorf("a rule more: %v", err)
			}
			stop()
		}
	})
}

// A program that ensures its monitors and rules at each start changes nothing at the next one, also
// with a secret that the store keeps sealed.
func TestEnsureOverRestarts(t *testing.T) {
	sealer, err := endpoints.NewAESSealer(endpoints.SealKey{ID: "k", Key: "a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2U="})
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(memory.Options{})
	var first [2]string
	for start := range 3 {
		e := newEngine(t, streamwatch.Config{Fetcher: platformOf("nasa"), Store: store, Sealer: sealer})
		m, err := e.Monitors().Ensure(t.Context(), monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, WebhookURL: "https://h.example.com/m", WebhookSecret: "whsec_a-secret-of-this-program"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Rules().Ensure(t.Context(), rule.CreateRequest{Tag: "r", Query: "from:nasa moon", Interval: time.Minute, WebhookURL: "https://h.example.com/r"})
		if err != nil {
			t.Fatal(err)
		}
		if start == 0 {
			first = [2]string{m.ID, r.ID}
		}
		_, last, err := store.Ports().Records.Since(t.Context(), 0, 0)
		if err != nil || last != 4 || m.ID != first[0] || r.ID != first[1] || (r.WebhookSecret != "") != (start == 0) {
			t.Errorf("start %d: %d changes, %v; monitor %s, rule %s", start, last, err, m.ID, r.ID)
		}
	}
}
