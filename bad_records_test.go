package streamwatch_test

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/roles"
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
			"mon_d_heavy":  {Accounts: account("esa"), PollInterval: time.Second, Weight: -1},
			"mon_e_seldom": {Accounts: account("esa"), PollInterval: math.MaxInt64},
		}
		for id, m := range bad {
			m.ID, m.Name, m.Status, m.CreatedAt = id, id, monitor.Active, now
			if err := roles.Monitors(store.Ports().Records).Create(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		good := monitor.Monitor{ID: "mon_good", Name: "good", Status: monitor.Active, Accounts: account("nasa"), PollInterval: time.Second, CreatedAt: now}
		if err := roles.Monitors(store.Ports().Records).Create(t.Context(), good); err != nil {
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
			if err := roles.Rules(store.Ports().Records).Create(t.Context(), r); err != nil {
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
