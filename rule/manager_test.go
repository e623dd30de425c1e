package rule_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/secret"
)

func (d *desk) create(t *testing.T, change func(*rule.CreateRequest)) rule.Created {
	t.Helper()
	q := rule.CreateRequest{Owner: "acme", Tag: "space", Query: "moon  lang:en", Interval: time.Minute, WebhookURL: "https://h.example.com/"}
	if change != nil {
		change(&q)
	}
	c, err := d.Create(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// same checks that r is what is stored, tracked and has the endpoint.
func (d *desk) same(t *testing.T, r rule.Rule) {
	t.Helper()
	stored, err := d.Get(t.Context(), r.Owner, r.ID)
	if err != nil || stored != r {
		t.Errorf("stored %+v %v\nwant   %+v", stored, err, r)
	}
	tracked, ok := d.tracked[r.ID]
	if active := r.Status == rule.Active; ok != active || active && tracked != r {
		t.Errorf("tracked %+v %t\nwant    %+v", tracked, ok, r)
	}
	if d.webhooks[r.ID] != r.WebhookURL {
		t.Errorf("webhook %q, want %q", d.webhooks[r.ID], r.WebhookURL)
	}
}

func TestCreateRule(t *testing.T) {
	d := newDesk(t)
	before := time.Now().Truncate(0)
	c := d.create(t, nil)
	if c.MaxResults != 20 || c.Status != rule.Active || c.StatusReason != "" || !c.WebhookSecretSet || c.Query != "moon  lang:en" {
		t.Errorf("created %+v", c.Rule)
	}
	if c.Since.Before(before) || c.Since != c.CreatedAt || c.Since != c.UpdatedAt {
		t.Errorf("created %s, since %s", c.CreatedAt, c.Since)
	}
	if c.WebhookSecret != "whsec_generated" {
		t.Error("a generated secret must be shown")
	}
	if strings.Contains(fmt.Sprintf("%v %+v", c, c), "whsec_") {
		t.Error("a printed answer shows the secret")
	}
	d.same(t, c.Rule)
	if _, err := d.Create(t.Context(), rule.CreateRequest{Owner: "acme", Tag: "space", Query: "x", Interval: time.Minute}); !errors.Is(err, rule.ErrDuplicate) {
		t.Errorf("the same tag again: %v, want ErrDuplicate", err)
	}
	d.create(t, func(q *rule.CreateRequest) { q.Owner = "other" }) // tags are unique per owner
	if len(d.webhooks) != 2 || len(d.tracked) != 2 {
		t.Errorf("a refused rule left something: %v %v", d.webhooks, d.tracked)
	}
}

func TestCreateValidates(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, row := range []struct {
		field  string // "" for none
		change func(*rule.CreateRequest)
	}{
		{"", func(q *rule.CreateRequest) {}},
		{"", func(q *rule.CreateRequest) { q.Interval, q.Schedule = 0, "*/5 * * * *" }},
		{"", func(q *rule.CreateRequest) { q.Interval, q.MaxResults = time.Second, 100 }},
		{"owner", func(q *rule.CreateRequest) { q.Owner = long }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = "" }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = " " }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = "a\nb" }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = long }},
		{"query", func(q *rule.CreateRequest) { q.Query = "" }},
		{"query", func(q *rule.CreateRequest) { q.Query = long }},
		{"query", func(q *rule.CreateRequest) { q.Query = "(moon" }},
		{"query", func(q *rule.CreateRequest) { q.Query = "-moon" }},
		{"interval_seconds", func(q *rule.CreateRequest) { q.Interval = 0 }},
		{"interval_seconds", func(q *rule.CreateRequest) { q.Interval = 999 * time.Millisecond }}, // the manager's bound
		{"interval_seconds", func(q *rule.CreateRequest) { q.Interval = 25 * time.Hour }},
		{"schedule", func(q *rule.CreateRequest) { q.Schedule = "@hourly" }}, // and an interval
		{"schedule", func(q *rule.CreateRequest) { q.Interval, q.Schedule = 0, "whenever" }},
		{"max_results_per_poll", func(q *rule.CreateRequest) { q.MaxResults = 101 }},
		{"max_results_per_poll", func(q *rule.CreateRequest) { q.MaxResults = -1 }},
		{"webhook_url", func(q *rule.CreateRequest) { q.WebhookURL = "http://h.example.com" }},
		{"webhook_secret", func(q *rule.CreateRequest) { q.WebhookURL, q.WebhookSecret = "", "0123456789012345678901234" }},
	} {
		d := newDesk(t)
		q := rule.CreateRequest{Owner: "acme", Tag: "space", Query: "moon", Interval: time.Minute, WebhookURL: "https://h.example.com/"}
		row.change(&q)
		_, err := d.Create(t.Context(), q)
		var fe *rule.FieldError
		switch {
		case row.field == "" && err != nil:
			t.Errorf("%+v: %v", q, err)
		case row.field != "" && (!errors.As(err, &fe) || fe.Field != row.field || fe.Allowed == ""):
			t.Errorf("%+v: error %v, want one about %s", q, err, row.field)
		case row.field != "" && len(d.webhooks)+len(d.tracked) > 0:
			t.Errorf("%+v was refused and left something", q)
		}
		var se *query.SyntaxError
		if q.Query == "(moon" && !errors.As(err, &se) {
			t.Errorf("error %v, want it to wrap a *query.SyntaxError", err)
		}
	}
}

func TestUpdateRule(t *testing.T) {
	str := func(s string) *string { return &s }
	five, hundred, status := 5*time.Minute, 100, rule.Paused
	key := secret.Value("0123456789012345678901234")
	for _, row := range []struct {
		name   string
		q      rule.UpdateRequest
		field  string // of the error, "" for none
		since  bool   // Since is the time of the change
		expect func(r rule.Rule) bool
	}{
		{name: "nothing", expect: func(r rule.Rule) bool { return r.Tag == "space" && r.Query == "moon  lang:en" }},
		{name: "tag", q: rule.UpdateRequest{Tag: str("orbit")}, expect: func(r rule.Rule) bool { return r.Tag == "orbit" }},
		{name: "another query", q: rule.UpdateRequest{Query: str("mars")}, since: true, expect: func(r rule.Rule) bool { return r.Query == "mars" }},
		{name: "the same query", q: rule.UpdateRequest{Query: str("moon  lang:en")}, expect: func(r rule.Rule) bool { return r.Query == "moon  lang:en" }},
		{name: "interval", q: rule.UpdateRequest{Interval: &five}, expect: func(r rule.Rule) bool { return r.Interval == five }},
		{name: "schedule", q: rule.UpdateRequest{Schedule: str("@daily")}, expect: func(r rule.Rule) bool { return r.Interval == 0 && r.Schedule == "@daily" }},
		{name: "results", q: rule.UpdateRequest{MaxResults: &hundred}, expect: func(r rule.Rule) bool { return r.MaxResults == 100 }},
		{name: "webhook moves", q: rule.UpdateRequest{WebhookURL: str("https://h.example.com/2")}, expect: func(r rule.Rule) bool { return r.WebhookSecretSet }},
		{name: "webhook goes", q: rule.UpdateRequest{WebhookURL: str("")}, expect: func(r rule.Rule) bool { return !r.WebhookSecretSet }},
		{name: "secret", q: rule.UpdateRequest{WebhookSecret: &key}, expect: func(r rule.Rule) bool { return r.WebhookSecretSet }},
		{name: "pause", q: rule.UpdateRequest{Status: &status}, expect: func(r rule.Rule) bool { return r.StatusReason == rule.ReasonUser }},
		{name: "the current version", q: rule.UpdateRequest{Tag: str("orbit"), Version: -1}, expect: func(r rule.Rule) bool { return r.Tag == "orbit" }},
		{name: "query refused", q: rule.UpdateRequest{Query: str("(")}, field: "query"},
		{name: "both paces", q: rule.UpdateRequest{Schedule: str("@daily"), Interval: &five}, field: "schedule"},
		{name: "no pace", q: rule.UpdateRequest{Schedule: str("")}, field: "interval_seconds"},
		{name: "webhook refused", q: rule.UpdateRequest{WebhookURL: str("ftp://x")}, field: "webhook_url"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			old := d.create(t, nil).Rule
			if row.q.Version < 0 {
				row.q.Version = old.Version
			}
			u, err := d.Update(t.Context(), "acme", old.ID, row.q)
			if row.field != "" {
				var fe *rule.FieldError
				if !errors.As(err, &fe) || fe.Field != row.field {
					t.Errorf("error %v, want one about %s", err, row.field)
				}
				d.same(t, old)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !row.expect(u.Rule) || u.Version != old.Version+1 || u.Since.After(old.Since) != row.since {
				t.Errorf("changed to %+v", u.Rule)
			}
			d.same(t, u.Rule)
		})
	}
}

func TestChangeOfAnOldVersion(t *testing.T) {
	d := newDesk(t)
	first := d.create(t, nil).Rule
	tag := "second"
	second, err := d.Update(t.Context(), "acme", first.ID, rule.UpdateRequest{Tag: &tag})
	if err != nil {
		t.Fatal(err)
	}
	late := "late"
	if _, err := d.Update(t.Context(), "acme", first.ID, rule.UpdateRequest{Tag: &late, Version: second.Version - 1}); !errors.Is(err, rule.ErrConflict) {
		t.Errorf("change of an old version: %v", err)
	}
	if err := d.DeleteVersion(t.Context(), "acme", first.ID, second.Version-1); !errors.Is(err, rule.ErrConflict) {
		t.Errorf("deletion of an old version: %v", err)
	}
	d.same(t, second.Rule)
	if _, err := d.Update(t.Context(), "other", first.ID, rule.UpdateRequest{Tag: &late}); !errors.Is(err, rule.ErrNotFound) {
		t.Errorf("another owner's rule: %v", err)
	}
}

func TestPauseAndResumeRule(t *testing.T) {
	d := newDesk(t)
	r := d.create(t, nil).Rule
	paused, err := d.Pause(t.Context(), "acme", r.ID)
	if err != nil || paused.Status != rule.Paused || paused.StatusReason != rule.ReasonUser || paused.Since != r.Since {
		t.Errorf("paused %+v %v", paused, err)
	}
	d.same(t, paused)
	resumed, err := d.Resume(t.Context(), "acme", r.ID)
	if err != nil || resumed.Status != rule.Active || resumed.StatusReason != "" || !resumed.Since.After(r.Since) {
		t.Errorf("resumed %+v %v", resumed, err)
	}
	d.same(t, resumed)
}

func TestAFailureLeavesNothingBehind(t *testing.T) {
	d := newDesk(t)
	d.trackErr = errors.New("detector is down")
	if _, err := d.Create(t.Context(), rule.CreateRequest{Tag: "a", Query: "moon", Interval: time.Minute, WebhookURL: "https://h.example.com/"}); !errors.Is(err, d.trackErr) {
		t.Errorf("create: %v", err)
	}
	if p, _ := d.List(t.Context(), rule.Query{}); p.Total+len(d.webhooks) != 0 {
		t.Errorf("a failed create left %d rules and %v", p.Total, d.webhooks)
	}
	d.trackErr = nil
	r := d.create(t, nil).Rule
	url := "https://h.example.com/fail"
	if _, err := d.Update(t.Context(), "acme", r.ID, rule.UpdateRequest{WebhookURL: &url}); err == nil {
		t.Error("an update whose endpoint failed succeeded")
	}
	if got, _ := d.Get(t.Context(), "acme", r.ID); got.WebhookURL != r.WebhookURL {
		t.Errorf("a failed update left %+v", got)
	}
	d.trackErr = errors.New("detector is down")
	tag := "orbit"
	u, err := d.Update(t.Context(), "acme", r.ID, rule.UpdateRequest{Tag: &tag})
	if !errors.Is(err, d.trackErr) || u.Tag != tag {
		t.Errorf("%+v, %v; want the stored change and the error", u.Rule, err)
	}
}

func TestDeleteRule(t *testing.T) {
	d := newDesk(t)
	r := d.create(t, nil).Rule
	if err := d.Delete(t.Context(), "other", r.ID); !errors.Is(err, rule.ErrNotFound) {
		t.Errorf("another owner's rule: %v", err)
	}
	if err := d.Delete(t.Context(), "acme", r.ID); err != nil {
		t.Fatal(err)
	}
	if len(d.tracked)+len(d.webhooks) != 0 {
		t.Errorf("left %v %v", d.tracked, d.webhooks)
	}
	d.create(t, nil) // its tag is free
}

func TestListRules(t *testing.T) {
	d := newDesk(t)
	for i := range 3 {
		d.create(t, func(q *rule.CreateRequest) { q.Tag = fmt.Sprint(i) })
	}
	for _, row := range []struct {
		q     rule.Query
		want  string
		field string
	}{
		{q: rule.Query{Owner: "acme"}, want: "0 1 2 of 3, page 1 of 20"},
		{q: rule.Query{Owner: "acme", Page: 2, PageSize: 2}, want: "2 of 3, page 2 of 2"},
		{q: rule.Query{Owner: "acme", Status: rule.Paused}, want: " of 0, page 1 of 20"},
		{q: rule.Query{Owner: "other"}, want: " of 0, page 1 of 20"},
		{q: rule.Query{Page: -1}, field: "page"},
		{q: rule.Query{PageSize: 101}, field: "page_size"},
		{q: rule.Query{Status: "gone"}, field: "status"},
	} {
		p, err := d.List(t.Context(), row.q)
		var fe *rule.FieldError
		if row.field != "" {
			if !errors.As(err, &fe) || fe.Field != row.field {
				t.Errorf("%+v: %v, want an error about %s", row.q, err, row.field)
			}
			continue
		}
		var tags []string
		for _, r := range p.Rules {
			tags = append(tags, r.Tag)
		}
		if got := fmt.Sprintf("%s of %d, page %d of %d", strings.Join(tags, " "), p.Total, p.Page, p.PageSize); err != nil || got != row.want {
			t.Errorf("%+v: %s %v, want %s", row.q, got, err, row.want)
		}
	}
}

func TestReportSetsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := d.create(t, nil).Rule
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- d.Run(ctx) }()
		for _, row := range []struct {
			what string
			err  error
			want string
		}{
			{"", errors.New("query refused"), "upstream_error: query refused"},
			{"@nasa", errors.New("protected"), "upstream_error: query refused (and 1 more)"},
			{"", nil, "upstream_error: @nasa: protected"},
			{"@nasa", nil, ""},
		} {
			d.Report("acme", r.ID, row.what, row.err)
			synctest.Wait()
			if got, _ := d.Get(t.Context(), "acme", r.ID); got.StatusReason != row.want || got.Status != rule.Active {
				t.Errorf("after %q %v: %s %q, want %q", row.what, row.err, got.Status, got.StatusReason, row.want)
			}
		}
		// A changed query clears the error of the one before.
		d.Report("acme", r.ID, "", errors.New("query refused"))
		synctest.Wait()
		text := "mars"
		if u, err := d.Update(t.Context(), "acme", r.ID, rule.UpdateRequest{Query: &text}); err != nil || u.StatusReason != "" {
			t.Errorf("after an edit: %q %v", u.StatusReason, err)
		}
		d.Report("acme", r.ID, "", errors.New("too late"))
		if _, err := d.Pause(t.Context(), "acme", r.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, _ := d.Get(t.Context(), "acme", r.ID); got.StatusReason != rule.ReasonUser {
			t.Errorf("paused, with reason %q", got.StatusReason)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestManagerConfig(t *testing.T) {
	d := newDesk(t)
	good := rule.Config{Store: d.store.Rules(), Tracker: d, Webhooks: d}
	for _, row := range []struct {
		change func(*rule.Config)
		ok     bool
	}{
		{func(c *rule.Config) {}, true},
		{func(c *rule.Config) { c.Store = nil }, false},
		{func(c *rule.Config) { c.Tracker = nil }, false},
		{func(c *rule.Config) { c.Webhooks = nil }, false},
		{func(c *rule.Config) { c.MinInterval = time.Millisecond }, false},
		{func(c *rule.Config) { c.Parse.MaxLength = 2048 }, false},
	} {
		cfg := good
		row.change(&cfg)
		if _, err := rule.NewManager(cfg); (err == nil) != row.ok {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestEachRule(t *testing.T) {
	d := newDesk(t)
	for i := range 3 {
		d.create(t, func(q *rule.CreateRequest) { q.Owner = fmt.Sprint(i) })
	}
	n := 0
	if err := d.Each(t.Context(), func(rule.Rule) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("%d rules, %v", n, err)
	}
	stop := errors.New("stop")
	if err := d.Each(t.Context(), func(rule.Rule) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}
