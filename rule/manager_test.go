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

func TestCreate(t *testing.T) {
	d := newDesk(t, func(c *rule.Config) { c.Price = func(r rule.Rule) int64 { return int64(r.Interval / time.Second) } })
	c := d.create(t, func(q *rule.CreateRequest) { q.Platform = "y" })
	at := c.CreatedAt
	want := rule.Rule{ID: c.ID, Owner: "acme", Tag: "space", Query: "moon  lang:en", Platform: "y", Interval: time.Minute, MaxResults: 20, Since: at,
		WebhookURL: "https://h.example.com/", WebhookID: "ep_of_" + c.ID, WebhookSecretSet: true, Status: rule.Active, CreatedAt: at, UpdatedAt: at, Version: 1}
	if !strings.HasPrefix(c.ID, "rul_") || at.IsZero() || c.Rule != want || c.WebhookSecret != "whsec_generated" {
		t.Errorf("created %+v\nwant    %+v", c.Rule, want)
	}
	d.same(t, want)
	if r := d.stored(t, c.ID); r.Price != 60 {
		t.Errorf("price %d, want 60", r.Price)
	}
	if strings.Contains(fmt.Sprintf("%v %+v", c, c), "whsec_") {
		t.Error("the secret prints")
	}
	if _, err := d.Create(t.Context(), valid()); !errors.Is(err, rule.ErrDuplicate) {
		t.Errorf("the tag again: %v, want %v", err, rule.ErrDuplicate)
	}
}

func TestCreateValidates(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, tt := range []struct {
		field  string // "" for none
		change func(*rule.CreateRequest)
	}{
		{"", func(q *rule.CreateRequest) { q.Interval, q.Schedule = 0, "*/5 * * * *" }},
		{"", func(q *rule.CreateRequest) { q.Interval, q.MaxResults = time.Second, 100 }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = "" }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = " " }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = "a\nb" }},
		{"tag", func(q *rule.CreateRequest) { q.Tag = long }},
		{"query", func(q *rule.CreateRequest) { q.Query = "" }},
		{"query", func(q *rule.CreateRequest) { q.Query = long }},
		{"query", func(q *rule.CreateRequest) { q.Query = "(moon" }},
		{"query", func(q *rule.CreateRequest) { q.Query = "-moon" }},
		{"platform", func(q *rule.CreateRequest) { q.Platform = "z" }},
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
		d := newDesk(t, nil)
		q := valid()
		tt.change(&q)
		c, err := d.Create(t.Context(), q)
		var fe *rule.FieldError
		switch {
		case tt.field == "" && err != nil:
			t.Errorf("%+v: %v", q, err)
		case tt.field == "":
			d.same(t, c.Rule)
		case !errors.As(err, &fe) || fe.Wire != tt.field || fe.Allowed == "" || strings.Contains(err.Error(), "0123456789"):
			t.Errorf("%+v: error %v, want one about %s that says what is allowed", q, err, tt.field)
		}
		var se *query.SyntaxError
		if q.Query == "(moon" && !errors.As(err, &se) {
			t.Errorf("error %v, want it to wrap a *query.SyntaxError", err)
		}
		if p, err := d.Page(t.Context(), rule.Query{Owner: "acme"}); err != nil || (p.Total > 0) != (tt.field == "") {
			t.Errorf("%+v: %d rules, %v", q, p.Total, err)
		}
	}
}

// An update changes the fields that it names. A changed query begins with the posts that the old one
// has not polled yet.
func TestUpdate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		q      rule.UpdateRequest
		change func(r *rule.Rule, now time.Time) // what else is than was
		field  string                            // of the error
	}{
		{name: "nothing"},
		{name: "tag", q: rule.UpdateRequest{Tag: ptr("orbit")}, change: func(r *rule.Rule, _ time.Time) { r.Tag = "orbit" }},
		{name: "another query", q: rule.UpdateRequest{Query: ptr("mars")}, change: func(r *rule.Rule, now time.Time) { r.Query, r.Since = "mars", now.Add(-r.Interval) }},
		{name: "the same query", q: rule.UpdateRequest{Query: ptr("moon  lang:en")}},
		{name: "interval", q: rule.UpdateRequest{Interval: ptr(time.Hour)}, change: func(r *rule.Rule, _ time.Time) { r.Interval = time.Hour }},
		{name: "schedule", q: rule.UpdateRequest{Schedule: ptr("@daily")}, change: func(r *rule.Rule, _ time.Time) { r.Interval, r.Schedule = 0, "@daily" }},
		{name: "results", q: rule.UpdateRequest{MaxResults: ptr(100)}, change: func(r *rule.Rule, _ time.Time) { r.MaxResults = 100 }},
		{name: "webhook", q: rule.UpdateRequest{WebhookURL: ptr("https://h.example.com/2")}, change: func(r *rule.Rule, _ time.Time) { r.WebhookURL = "https://h.example.com/2" }},
		{name: "pause", q: rule.UpdateRequest{Status: ptr(rule.Paused)}, change: func(r *rule.Rule, _ time.Time) { r.Status, r.StatusReason = rule.Paused, rule.ReasonUser }},
		{name: "tag refused", q: rule.UpdateRequest{Tag: ptr("")}, field: "tag"},
		{name: "query refused", q: rule.UpdateRequest{Query: ptr("(")}, field: "query"},
		{name: "too often", q: rule.UpdateRequest{Interval: ptr(time.Second - 1)}, field: "interval_seconds"},
		{name: "both paces", q: rule.UpdateRequest{Schedule: ptr("@daily"), Interval: ptr(time.Hour)}, field: "schedule"},
		{name: "no pace", q: rule.UpdateRequest{Schedule: ptr("")}, field: "interval_seconds"},
		{name: "results refused", q: rule.UpdateRequest{MaxResults: ptr(0)}, field: "max_results_per_poll"},
		{name: "status refused", q: rule.UpdateRequest{Status: ptr(rule.Status("stopped"))}, field: "status"},
		{name: "webhook refused", q: rule.UpdateRequest{WebhookURL: ptr("ftp://x")}, field: "webhook_url"},
		{name: "secret refused", q: rule.UpdateRequest{WebhookSecret: ptr(secret.Value(""))}, field: "webhook_secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				want := d.create(t, nil).Rule
				<-time.After(time.Hour)
				u, err := d.Update(t.Context(), "acme", want.ID, tt.q)
				if tt.field != "" {
					var fe *rule.FieldError
					if !errors.As(err, &fe) || fe.Wire != tt.field {
						t.Errorf("error %v, want one about %s", err, tt.field)
					}
					d.same(t, want)
					return
				}
				now := time.Now().UTC().Round(0)
				if want.Version, want.UpdatedAt = 2, now; tt.change != nil {
					tt.change(&want, now)
				}
				if err != nil || u.Rule != want {
					t.Errorf("changed to %+v, %v\nwant       %+v", u.Rule, err, want)
				}
				d.same(t, want)
			})
		})
	}
}

// A schedule gives way to an interval.
func TestUpdateOfASchedule(t *testing.T) {
	d := newDesk(t, nil)
	c := d.create(t, func(q *rule.CreateRequest) { q.Interval, q.Schedule = 0, "@daily" })
	u, err := d.Update(t.Context(), "acme", c.ID, rule.UpdateRequest{Interval: ptr(time.Hour)})
	if err != nil || u.Schedule != "" || u.Interval != time.Hour {
		t.Errorf("%+v, %v", u.Rule, err)
	}
	d.same(t, u.Rule)
}

// A resumed rule begins anew, a restored one where polls have read to.
func TestSinceAfterAPause(t *testing.T) {
	const day = 24 * time.Hour
	suspend := func(ctx context.Context, d *desk, id string) (rule.Rule, error) {
		return d.Suspend(ctx, "acme", id, rule.ReasonCredits)
	}
	restore := func(ctx context.Context, d *desk, id string) (rule.Rule, error) {
		return d.Restore(ctx, "acme", id, rule.ReasonCredits)
	}
	pause := func(ctx context.Context, d *desk, id string) (rule.Rule, error) { return d.Pause(ctx, "acme", id) }
	resume := func(ctx context.Context, d *desk, id string) (rule.Rule, error) { return d.Resume(ctx, "acme", id) }
	for _, tt := range []struct {
		name  string
		read  time.Duration // after the creation; 0 for nothing
		steps []func(context.Context, *desk, string) (rule.Rule, error)
		since time.Duration // after the creation, which the first step follows in a day
	}{
		{"paused and resumed", time.Hour, []func(context.Context, *desk, string) (rule.Rule, error){pause, resume}, day},
		{"suspended and restored", time.Hour, []func(context.Context, *desk, string) (rule.Rule, error){suspend, restore}, time.Hour},
		{"suspended and resumed", time.Hour, []func(context.Context, *desk, string) (rule.Rule, error){suspend, resume}, time.Hour},
		{"suspended before it was read", 0, []func(context.Context, *desk, string) (rule.Rule, error){suspend, restore}, 0},
		{"read before it was changed", -time.Hour, []func(context.Context, *desk, string) (rule.Rule, error){suspend, restore}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				c := d.create(t, nil)
				if tt.read != 0 {
					d.read = c.Since.Add(tt.read)
				}
				<-time.After(day)
				var r rule.Rule
				for _, do := range tt.steps {
					var err error
					if r, err = do(t.Context(), d, c.ID); err != nil {
						t.Fatal(err)
					}
				}
				if got := r.Since.Sub(c.Since); got != tt.since || r.Status != rule.Active {
					t.Errorf("%s since %s after the creation, want %s", r.Status, got, tt.since)
				}
				d.same(t, r)
			})
		})
	}
	d := newDesk(t, nil)
	c := d.create(t, nil)
	d.readErr = errors.New("no answer")
	if _, err := d.Suspend(t.Context(), "acme", c.ID, rule.ReasonCredits); !errors.Is(err, d.readErr) {
		t.Errorf("error %v, want %v", err, d.readErr)
	}
	d.same(t, c.Rule)
}

func TestList(t *testing.T) {
	d := newDesk(t, nil)
	for i := range 3 {
		d.create(t, func(q *rule.CreateRequest) { q.Tag = fmt.Sprint(i) })
	}
	for _, tt := range []struct {
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
		p, err := d.Page(t.Context(), tt.q)
		var fe *rule.FieldError
		if tt.field != "" {
			if !errors.As(err, &fe) || fe.Wire != tt.field {
				t.Errorf("%+v: %v, want an error about %s", tt.q, err, tt.field)
			}
			continue
		}
		var tags []string
		for _, r := range p.Rules {
			tags = append(tags, r.Tag)
		}
		if got := fmt.Sprintf("%s of %d, page %d of %d", strings.Join(tags, " "), p.Total, p.Page, p.PageSize); err != nil || got != tt.want {
			t.Errorf("%+v: %s %v, want %s", tt.q, got, err, tt.want)
		}
	}
	n := 0
	if err := d.Each(t.Context(), func(rule.Rule) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("each of %d rules, %v", n, err)
	}
}

// A failure is of a rule that makes the search, or has the account as an author.
func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name, query, what string
		to                string // the query then
		lasts             bool
	}{
		{"a search", "moon  lang:en", "?moon lang:en", "moon   lang:en", true},
		{"another search", "moon", "?moon", "mars", false},
		{"an author", "from:NASA moon", "@nasa", "from:nasa mars", true},
		{"an author on a platform", "from:nasa moon", "@x:NASA", "from:nasa mars", true},
		{"another author", "from:nasa moon", "@nasa", "from:esa moon", false},
		{"an author whose name ends alike", "from:nasa moon", "@nasa", "from:asa moon", false},
		{"a search, and the text of an author", "from:nasa", "?from:nasa", "from:nasa moon", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- d.Run(ctx) }()
				c := d.create(t, func(q *rule.CreateRequest) { q.Query = tt.query })
				d.Report("acme", c.ID, tt.what, errors.New("refused"))
				synctest.Wait()
				r, err := d.Get(t.Context(), "acme", c.ID)
				if err != nil || !strings.HasSuffix(r.StatusReason, "refused") || r.Status != rule.Active || r.Version != 1 {
					t.Errorf("reported: %+v, %v", r, err)
				}
				if _, err := d.Update(t.Context(), "acme", c.ID, rule.UpdateRequest{Query: &tt.to}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := d.stored(t, c.ID).Note; (got != "") != tt.lasts {
					t.Errorf("with the query %q: note %q, want one: %t", tt.to, got, tt.lasts)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Forget is asked about the searches and accounts, not about the whole rule, which each node runs.
func TestForget(t *testing.T) {
	d := newDesk(t, nil)
	c := d.create(t, nil)
	for _, what := range []string{"", "?moon lang:en", "@nasa"} {
		d.Report("acme", c.ID, what, errors.New("refused"))
	}
	asked := map[string]bool{}
	d.Forget(func(id, what string) bool { asked[id+" "+what] = true; return true })
	if len(asked) != 2 || !asked[c.ID+" ?moon lang:en"] || !asked[c.ID+" @nasa"] {
		t.Errorf("asked about %v", asked)
	}
}

func TestManagerConfig(t *testing.T) {
	d := newDesk(t, nil)
	for want, change := range map[string]func(*rule.Config){
		"Records":           func(c *rule.Config) { c.Records = nil },
		"a Tracker":         func(c *rule.Config) { c.Tracker = nil },
		"Webhooks":          func(c *rule.Config) { c.Webhooks = nil },
		"MinInterval 1ms":   func(c *rule.Config) { c.MinInterval = time.Millisecond },
		"MinInterval 25h":   func(c *rule.Config) { c.MinInterval = 25 * time.Hour },
		"Parse.MaxLength":   func(c *rule.Config) { c.Parse.MaxLength = 2048 },
		"Parse.Dialect":     func(c *rule.Config) { c.Parse.Dialect = query.Web + 1 },
		"Parse.MaxClauses":  func(c *rule.Config) { c.Parse.MaxClauses = -1 },
		"Parse.MaxDepth -1": func(c *rule.Config) { c.Parse.MaxDepth = -1 },
	} {
		cfg := rule.Config{Records: d.store, Tracker: d, Webhooks: webhooks{}}
		change(&cfg)
		if _, err := rule.NewManager(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that names %s", err, want)
		}
	}
}

// Ensure compares what a request can say.
func TestEnsure(t *testing.T) {
	d := newDesk(t, nil)
	first, err := d.Ensure(t.Context(), valid())
	if err != nil || first.Version != 1 || first.WebhookSecret != "whsec_generated" {
		t.Fatalf("Ensure: %+v, %v; want a new rule", first, err)
	}
	version, since := int64(1), first.Since
	for _, row := range []struct {
		name    string
		change  func(*rule.CreateRequest)
		changes bool
	}{
		{"equal", func(*rule.CreateRequest) {}, false},
		{"the first platform by name", func(q *rule.CreateRequest) { q.Platform = "x" }, false},
		{"the default of results", func(q *rule.CreateRequest) { q.MaxResults = rule.DefaultResults }, false},
		{"more results", func(q *rule.CreateRequest) { q.MaxResults = 100 }, true},
		{"a schedule", func(q *rule.CreateRequest) { q.Interval, q.Schedule = 0, "0 * * * *" }, true},
		{"an interval", func(*rule.CreateRequest) {}, true},
		{"another query", func(q *rule.CreateRequest) { q.Query = "mars" }, true},
		{"no webhook", func(q *rule.CreateRequest) { q.Query, q.WebhookURL = "mars", "" }, true},
	} {
		q := valid()
		row.change(&q)
		got, err := d.Ensure(t.Context(), q)
		if row.changes {
			version++
		}
		if err != nil || got.ID != first.ID || got.Version != version || got.Query != q.Query || got.Schedule != q.Schedule || got.WebhookURL != q.WebhookURL {
			t.Errorf("%s: %+v, %v; want version %d", row.name, got, err, version)
		}
		if got.Since != since {
			t.Errorf("%s: Since is %v, want %v", row.name, got.Since, since)
		}
	}
	var field *rule.FieldError
	for _, bad := range []func(*rule.CreateRequest){
		func(q *rule.CreateRequest) { q.Tag = "" },
		func(q *rule.CreateRequest) { q.Query = "(" },
		func(q *rule.CreateRequest) { q.Interval = 0 },
		func(q *rule.CreateRequest) { q.Platform = "y" },
		func(q *rule.CreateRequest) { q.MaxResults = 101 },
	} {
		q := valid()
		bad(&q)
		if _, err := d.Ensure(t.Context(), q); !errors.As(err, &field) {
			t.Errorf("%+v: %v, want a *FieldError", q, err)
		}
	}
	for r, err := range d.List(t.Context(), rule.Query{Owner: "acme", Status: rule.Active}) {
		if err != nil || r.ID != first.ID || r.Version != version {
			t.Errorf("List: %+v, %v; want the only rule, as it was", r, err)
		}
	}
}
