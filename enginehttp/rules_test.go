package enginehttp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Without a search, a rule is allowed only if its query names the authors, whose
// timelines have all it can match.
func TestRuleWithoutASearcher(t *testing.T) {
	w := newWorld(t)
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: timelineOnly{}, Store: w.store})
	if err != nil {
		t.Fatal(err)
	}
	if w.handler, err = enginehttp.New(engine, enginehttp.Options{Auth: w.keys}); err != nil {
		t.Fatal(err)
	}
	a := w.do(mine, "POST", rules, `{"tag":"t","query":"cheese","interval_seconds":5}`)
	if a.status != 501 || !strings.Contains(a.body, "this service cannot search") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a = w.do(mine, "POST", rules, `{"tag":"t","query":"from:nasa cheese","interval_seconds":5}`); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Who has no credits is told that the rule cannot run, rather than to top up for it.
func TestRuleWithoutASearcherAndCredits(t *testing.T) {
	w := newWorld(t)
	engine, err := streamwatch.New(streamwatch.Config{Fetcher: timelineOnly{}, Store: w.store, Billing: &billing.MeterConfig{}})
	if err != nil {
		t.Fatal(err)
	}
	if w.handler, err = enginehttp.New(engine, enginehttp.Options{Auth: w.keys}); err != nil {
		t.Fatal(err)
	}
	w.empty(mine)
	for query, want := range map[string]int{"cheese": 501, "from:nasa cheese": 402} {
		if a := w.do(mine, "POST", rules, `{"tag":"t","query":"`+query+`","interval_seconds":5}`); a.status != want {
			t.Errorf("%s: %d %s, want %d", query, a.status, a.body, want)
		}
	}
}

type timelineOnly struct{}

func (timelineOnly) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	return fetcher.Page{}, nil
}

// A rule shows exactly what it was charged in all.
func TestRuleShowsItsCosts(t *testing.T) {
	w := newWorld(t)
	id := w.ids[mine].Replace("{rule}")
	for i, amount := range []billing.Credits{-1042, -1041} {
		e := billing.Entry{ID: string(rune('a' + i)), Owner: mine, Kind: billing.KindRule, SourceID: id, Amount: amount, At: time.Now()}
		if err := w.store.Ports().Ledger.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if a := w.do(mine, "GET", rules+"/{rule}", ""); !strings.Contains(a.body, `"total_credits_burned":2.083,`) {
		t.Errorf("%s", a.body)
	}
	if a := w.do(mine, "GET", rules, ""); !strings.Contains(a.body, `"total_credits_burned":2.083,`) {
		t.Errorf("%s", a.body)
	}
}

// A rule's webhooks are created and listed as a monitor's are, with its current tag.
func TestRuleWebhooks(t *testing.T) {
	w := newWorld(t)
	a := w.do(mine, "POST", webhooks, `{"rule_id":"{rule}","url":"https://hooks.example.com/rule"}`)
	if a.status != 201 || !strings.Contains(a.body, `"monitor_id":null,"rule_id":"rul_`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a = w.do(mine, "PATCH", rules+"/{rule}", `{"tag":"renamed"}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = w.do(mine, "GET", webhooks, "")
	if !strings.Contains(a.body, `"rule_tag":"renamed"`) || !strings.Contains(a.body, `"monitor_name":"space"`) || !strings.Contains(a.body, `"total":2`) {
		t.Errorf("%s", a.body)
	}
	r := request("POST", webhooks, w.ids[mine].Replace(`{"rule_id":"{rule}","url":"https://hooks.example.com/rule"}`))
	r.Header.Set("X-Api-Key", w.key[theirs])
	if a := w.send(r); a.status != 404 {
		t.Errorf("another's rule: %d %s", a.status, a.body)
	}
}
