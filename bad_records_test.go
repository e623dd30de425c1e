package streamwatch_test

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Records that another version has stored, or somebody by hand, and that this engine does
// not take: the others run, and these say why they do not.
func TestBadRecordsStopNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
		store, now := memory.New(memory.Options{}), time.Now()
		account := func(names ...string) (list []monitor.Account) {
			for _, name := range names {
				list = append(list, monitor.Account{Username: name, Since: now})
			}
			return list
		}
		bad := map[string]monitor.Monitor{
			"mon_a_empty":  {Accounts: account("esa", ""), PollInterval: time.Second},
			"mon_b_long":   {Accounts: account(strings.Repeat("n", 5000)), PollInterval: time.Second},
			"mon_c_often":  {Accounts: account("esa"), PollInterval: -time.Second},
			"mon_d_heavy":  {Accounts: account("esa"), PollInterval: time.Second, Weight: math.NaN()},
			"mon_e_seldom": {Accounts: account("esa"), PollInterval: math.MaxInt64},
		}
		for id, m := range bad {
			m.ID, m.Name, m.Status, m.CreatedAt = id, id, monitor.Active, now
			if err := store.Monitors().Create(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		good := monitor.Monitor{ID: "mon_good", Name: "good", Status: monitor.Active, Accounts: account("nasa"), PollInterval: time.Second, CreatedAt: now}
		if err := store.Monitors().Create(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		rules := map[string]rule.Rule{
			"rule_a_empty":  {Interval: time.Second, MaxResults: 10},
			"rule_b_query":  {Query: "from:(", Interval: time.Second, MaxResults: 10},
			"rule_c_none":   {Query: "from:nasa", Interval: time.Second},
			"rule_d_often":  {Query: "from:nasa", Interval: -time.Second, MaxResults: 10},
			"rule_e_plan":   {Query: "from:nasa", Schedule: "whenever", MaxResults: 10},
			"rule_f_source": {Query: "from:nasa", Interval: time.Second, MaxResults: 10, Platform: "elsewhere"},
			"rule_g_words":  {Query: "from:nasa " + strings.Repeat("日a", 257), Interval: time.Second, MaxResults: 10},
			"rule_good":     {Query: "from:nasa", Interval: time.Second, MaxResults: 10},
		}
		for id, r := range rules {
			r.ID, r.Tag, r.Status, r.CreatedAt = id, id, rule.Active, now
			if err := store.Rules().Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		var in inbox
		var book heard.Output
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle, Logger: slog.New(slog.NewTextHandler(&book, nil))})
		if err := e.Start(t.Context()); err != nil {
			t.Fatalf("Start: %v", err)
		}
		pass(time.Minute)
		p.Post("nasa", "Lift-off")
		pass(time.Minute)
		if n := len(in.ids()); n != 2 {
			t.Errorf("%d events, want those of the good monitor and the good rule", n)
		}
		for id := range bad {
			got, err := e.Monitors().Get(t.Context(), "", id)
			if err != nil || got.Status != monitor.Active || !strings.HasPrefix(got.StatusReason, monitor.ReasonUpstream+"detect: ") {
				t.Errorf("%s: status %s, reason %q, error %v", id, got.Status, got.StatusReason, err)
			}
			if n := strings.Count(book.String(), "monitor="+id); n != 1 {
				t.Errorf("%s is %d times in the log, want once", id, n)
			}
		}
		for id := range rules {
			got, err := e.Rules().Get(t.Context(), "", id)
			if err != nil || got.Status != rule.Active || (got.StatusReason == "") != (id == "rule_good") {
				t.Errorf("%s: status %s, reason %q, error %v", id, got.Status, got.StatusReason, err)
			}
		}
		if got, _ := e.Rules().Get(t.Context(), "", "rule_g_words"); !strings.Contains(got.StatusReason, "E_PHRASE_TOO_LONG") {
			t.Errorf("reason %q of a query with a term of 514 words", got.StatusReason)
		}
		// A change of the record mends it.
		names := []string{"esa"}
		if _, err := e.Monitors().Update(t.Context(), "", "mon_a_empty", monitor.UpdateRequest{Usernames: &names}); err != nil {
			t.Errorf("mending it: %v", err)
		}
		pass(time.Minute)
		p.Post("esa", "Docked")
		pass(time.Minute)
		if got, _ := e.Monitors().Get(t.Context(), "", "mon_a_empty"); got.StatusReason != "" {
			t.Errorf("mended, its reason is %q", got.StatusReason)
		}
		if n := len(in.ids()); n != 3 {
			t.Errorf("%d events, want that of the mended monitor, too", n)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A node that could not run a monitor does not say so any more once the monitor was mended
// through another one.
func TestFleetForgetsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		names := enginetest.AccountNames(1)
		bad := monitor.Monitor{ID: "mon_bad", Name: "bad", Status: monitor.Active, PollInterval: w.interval, CreatedAt: time.Now(),
			Accounts: []monitor.Account{{Username: names[0], Since: time.Now()}, {Since: time.Now()}}}
		if err := w.store.Monitors().Create(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		nodes := w.start("a", "b")
		pass(time.Minute)
		if got := w.reasonOf(bad); !strings.HasPrefix(got, monitor.ReasonUpstream+"detect: ") {
			t.Errorf("reason %q, want why it is not run", got)
		}
		if _, err := nodes[0].Monitors().Update(t.Context(), "", bad.ID, monitor.UpdateRequest{Usernames: &names}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if got := w.reasonOf(bad); got != "" {
			t.Errorf("reason %q of a monitor that was mended", got)
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// taker is a Sender to an inbox.
type taker struct{ in *inbox }

func (s taker) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	return deliver.Result{OK: s.in.handle(ctx, *d.Event) == nil}
}

// Limits and cursors that no engine stores keep nobody from being read or sent to.
func TestBadLimitsAndCursorsStopNothing(t *testing.T) {
	type cursor = func(now time.Time) detect.Cursor
	gap := func(from, to time.Duration) cursor {
		return func(now time.Time) detect.Cursor {
			return detect.Cursor{Since: now, Gaps: []detect.Gap{{From: now.Add(from), To: now.Add(to), Resume: "x"}}}
		}
	}
	for name, row := range map[string]struct {
		limits deliver.Limits
		cursor cursor
	}{
		"in flight":     {limits: deliver.Limits{InFlight: -1}},
		"burst":         {limits: deliver.Limits{Rate: 1, Burst: -1}},
		"rate":          {limits: deliver.Limits{Rate: 1e300}},
		"negative rate": {limits: deliver.Limits{Rate: -1}},
		"read tomorrow": {cursor: func(now time.Time) detect.Cursor { return detect.Cursor{Since: now.Add(24 * time.Hour)} }},
		"read in 9999": {cursor: func(time.Time) detect.Cursor {
			return detect.Cursor{Since: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
		}},
		"read in 1":       {cursor: func(time.Time) detect.Cursor { return detect.Cursor{Since: time.Time{}.Add(time.Second)} }},
		"reversed gap":    {cursor: gap(0, -time.Hour)},
		"gap to tomorrow": {cursor: gap(0, 24*time.Hour)},
		"gap of an age":   {cursor: gap(-math.MaxInt64, 0)},
		"many gaps": {cursor: func(now time.Time) detect.Cursor {
			return detect.Cursor{Since: now, Gaps: make([]detect.Gap, 1000)}
		}},
		"read in an hour": {cursor: func(now time.Time) detect.Cursor { return detect.Cursor{Since: now.Add(time.Hour)} }},
		"a clock 2 minutes ahead": {cursor: func(now time.Time) detect.Cursor {
			return detect.Cursor{Since: now.Add(2 * time.Minute)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
				store := memory.New(memory.Options{})
				m := monitor.Monitor{ID: "mon_1", Name: "m", Status: monitor.Active, PollInterval: 10 * time.Second, CreatedAt: time.Now(),
					Accounts: []monitor.Account{{Username: "nasa", Since: time.Now()}}}
				if err := store.Monitors().Create(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				if err := store.Endpoints().Create(t.Context(), deliver.Endpoint{ID: "wh_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Name: "m"},
					URL: "test:", Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive, Limits: row.limits, CreatedAt: time.Now()}); err != nil {
					t.Fatal(err)
				}
				if row.cursor != nil {
					c := row.cursor(time.Now())
					c.Target = detect.AccountTarget("nasa")
					if err := store.Journal().Commit(t.Context(), []*detect.Batch{{Cursor: &c}}); err != nil {
						t.Fatal(err)
					}
				}
				var in inbox
				cfg := streamwatch.Config{Fetcher: p, Store: store}
				cfg.Deliver.Senders = map[string]deliver.Sender{"test": taker{&in}}
				e := newEngine(t, cfg)
				if err := e.Start(t.Context()); err != nil {
					t.Fatalf("Start: %v", err)
				}
				pass(time.Minute)
				for range 5 {
					p.Post("nasa", "Lift-off")
				}
				pass(time.Minute)
				if n := len(in.ids()); n != 5 {
					t.Errorf("%d events were sent, want 5", n)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Of an account whose stored cursor is a day ahead nobody knows how far it was read: it is
// read back to when its monitor began, beyond the overlap.
func TestCursorAheadOfTheClockIsReadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), memory.New(memory.Options{})
		m := monitor.Monitor{ID: "mon_1", Name: "m", Status: monitor.Active, PollInterval: 10 * time.Second, CreatedAt: time.Now(),
			Accounts: []monitor.Account{{Username: "nasa", Since: time.Now()}}}
		if err := store.Monitors().Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		p.Post("nasa", "while nobody reads")
		pass(3 * time.Hour)
		c := detect.Cursor{Target: detect.AccountTarget("nasa"), Since: time.Now().Add(24 * time.Hour)}
		if err := store.Journal().Commit(t.Context(), []*detect.Batch{{Cursor: &c}}); err != nil {
			t.Fatal(err)
		}
		var in inbox
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if n := len(in.ids()); n != 1 {
			t.Errorf("%d events, want the post of three hours ago", n)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
