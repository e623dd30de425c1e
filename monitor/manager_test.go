package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

func create(t *testing.T, d *desk, change func(*monitor.CreateRequest)) monitor.Created {
	t.Helper()
	r := valid()
	if change != nil {
		change(&r)
	}
	c, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCreate(t *testing.T) {
	d := newDesk(t)
	before := time.Now()
	c := create(t, d, nil)
	if got := fmt.Sprint(c.Usernames()); got != "[NASA esa]" {
		t.Errorf("usernames = %s, want each once, without @", got)
	}
	if c.PollInterval != time.Minute || c.Status != monitor.Active || c.StatusReason != "" || !c.WebhookSecretSet {
		t.Errorf("created %+v", c.Monitor)
	}
	if c.WebhookSecret != "whsec_generated" {
		t.Error("a generated secret must be shown")
	}
	if s := c.Accounts[0].Since; s.Before(before.Add(-time.Second)) || !s.Equal(c.CreatedAt) {
		t.Errorf("accounts count from %s, want from the creation", s)
	}
	if _, ok := d.tracked[c.ID]; !ok || d.webhooks[c.ID] == "" {
		t.Error("a new monitor takes effect at once")
	}
	if strings.Contains(fmt.Sprintf("%+v", c), "whsec_generated") {
		t.Error("the secret prints")
	}
	given := create(t, d, func(r *monitor.CreateRequest) { r.Name, r.WebhookSecret = "b", "0123456789012345678901234" })
	if given.WebhookSecret != "" {
		t.Error("a given secret must not be shown again")
	}
}

func TestCreateRefusesAndNamesTheField(t *testing.T) {
	d := newDesk(t)
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("a%d", i)
	}
	for _, row := range []struct {
		field  string
		change func(*monitor.CreateRequest)
	}{
		{"name", func(r *monitor.CreateRequest) { r.Name = "" }},
		{"name", func(r *monitor.CreateRequest) { r.Name = "   " }},
		{"name", func(r *monitor.CreateRequest) { r.Name = strings.Repeat("é", 101) }},
		{"name", func(r *monitor.CreateRequest) { r.Name = "a\x00b" }},
		{"name", func(r *monitor.CreateRequest) { r.Name = "\xff" }},
		{"owner", func(r *monitor.CreateRequest) { r.Owner = strings.Repeat("o", 129) }},
		{"owner", func(r *monitor.CreateRequest) { r.Owner = "a\nb" }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = nil }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = []string{"a", ""} }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = []string{"@@a"} }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = []string{"a b"} }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = []string{"a,b"} }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = []string{"a/../b"} }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = []string{strings.Repeat("a", 254)} }},
		{"usernames", func(r *monitor.CreateRequest) { r.Usernames = many }},
		{"filter_types", func(r *monitor.CreateRequest) { r.FilterTypes = []monitor.FilterType{"likes"} }},
		{"filter_types", func(r *monitor.CreateRequest) { r.FilterTypes = []monitor.FilterType{"reply", "reply"} }},
		{"poll_interval_seconds", func(r *monitor.CreateRequest) { r.PollInterval = time.Millisecond }},
		{"poll_interval_seconds", func(r *monitor.CreateRequest) { r.PollInterval = -time.Second }},
		{"poll_interval_seconds", func(r *monitor.CreateRequest) { r.PollInterval = 25 * time.Hour }},
		{"weight", func(r *monitor.CreateRequest) { r.Weight = -1 }},
		{"weight", func(r *monitor.CreateRequest) { r.Weight = math.NaN() }},
		{"weight", func(r *monitor.CreateRequest) { r.Weight = 1001 }},
		{"webhook_url", func(r *monitor.CreateRequest) { r.WebhookURL = "ftp://x" }},
		{"webhook_secret", func(r *monitor.CreateRequest) { r.WebhookURL, r.WebhookSecret = "", "0123456789012345678901234" }},
	} {
		r := valid()
		row.change(&r)
		_, err := d.Create(t.Context(), r)
		var fe *monitor.FieldError
		if !errors.As(err, &fe) || fe.Field != row.field || fe.Allowed == "" {
			t.Errorf("%+v: error %v, want one about %s that says what is allowed", r, err, row.field)
			continue
		}
		if strings.Contains(err.Error(), "0123456789") || len(err.Error()) > 400 {
			t.Errorf("error %q shows a secret or is endless", err)
		}
	}
	if p, _ := d.List(t.Context(), monitor.Query{Owner: "acme"}); p.Total != 0 || len(d.tracked) != 0 || len(d.webhooks) != 0 {
		t.Error("a refused request left something behind")
	}
}

func TestFailedCreateLeavesNothingBehind(t *testing.T) {
	d := newDesk(t)
	d.trackErr = errors.New("journal down")
	if _, err := d.Create(t.Context(), valid()); !errors.Is(err, d.trackErr) {
		t.Fatalf("error %v", err)
	}
	d.trackErr = nil
	create(t, d, nil)
	if _, err := d.Create(t.Context(), valid()); !errors.Is(err, monitor.ErrDuplicate) {
		t.Errorf("error %v, want ErrDuplicate", err)
	}
	if p, _ := d.List(t.Context(), monitor.Query{Owner: "acme"}); p.Total != 1 || len(d.webhooks) != 1 {
		t.Errorf("%d monitors and %d endpoints, want 1 each", p.Total, len(d.webhooks))
	}
	r := valid()
	r.Owner = "other"
	if _, err := d.Create(t.Context(), r); err != nil {
		t.Errorf("another owner may use the name: %v", err)
	}
}

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		c := create(t, d, nil)
		<-time.After(time.Hour)
		name, users, iv, url := "renamed", []string{"ESA", "jaxa"}, 5*time.Second, "https://other.example.com/"
		u, err := d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{Name: &name, Usernames: &users, PollInterval: &iv, WebhookURL: &url})
		if err != nil {
			t.Fatal(err)
		}
		if u.Name != name || u.PollInterval != iv || d.webhooks[c.ID] != url || !u.UpdatedAt.After(c.UpdatedAt) {
			t.Errorf("updated %+v, webhook %s", u.Monitor, d.webhooks[c.ID])
		}
		if !u.Accounts[0].Since.Equal(c.CreatedAt) || !u.Accounts[1].Since.Equal(time.Now()) {
			t.Errorf("accounts %v: who stays keeps its beginning, who is new counts from now", u.Accounts)
		}
		if d.tracked[c.ID].Name != name {
			t.Error("the change did not take effect")
		}
		if _, err := d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{Name: ptr("late"), Version: c.Version}); !errors.Is(err, monitor.ErrConflict) {
			t.Errorf("a change of a version that is gone: %v", err)
		}
		if err := d.DeleteVersion(t.Context(), "acme", c.ID, c.Version); !errors.Is(err, monitor.ErrConflict) {
			t.Errorf("a deletion of a version that is gone: %v", err)
		}
		got, err := d.Get(t.Context(), "acme", c.ID)
		if err != nil || got.Name != name || got.Version != u.Version {
			t.Errorf("stored %+v, %v", got, err)
		}
		for field, r := range map[string]monitor.UpdateRequest{
			"name":                  {Name: ptr("")},
			"usernames":             {Usernames: ptr([]string{})},
			"filter_types":          {FilterTypes: ptr([]monitor.FilterType{"x"})},
			"poll_interval_seconds": {PollInterval: ptr(time.Millisecond)},
			"weight":                {Weight: ptr(-0.5)},
			"status":                {Status: ptr(monitor.Status("stopped"))},
			"webhook_url":           {WebhookURL: ptr("gopher://x")},
			"webhook_secret":        {WebhookSecret: ptr(secret.Value(""))},
		} {
			_, err := d.Update(t.Context(), "acme", c.ID, r)
			var fe *monitor.FieldError
			if !errors.As(err, &fe) || fe.Field != field {
				t.Errorf("update of %s: error %v", field, err)
			}
		}
		if again, _ := d.Get(t.Context(), "acme", c.ID); again.Version != u.Version || d.webhooks[c.ID] != url {
			t.Error("a refused update changed something")
		}
		none := ""
		if u, err = d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{WebhookURL: &none}); err != nil || u.WebhookSecretSet || len(d.webhooks) != 0 {
			t.Errorf("removing the webhook: %+v, %v", u, err)
		}
		create(t, d, func(r *monitor.CreateRequest) { r.Name = "taken" })
		if _, err := d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{Name: ptr("taken"), WebhookURL: &url}); !errors.Is(err, monitor.ErrDuplicate) || d.webhooks[c.ID] != "" {
			t.Errorf("error %v, webhook %q: want ErrDuplicate and the webhook as it was", err, d.webhooks[c.ID])
		}
	})
}

// A tracker that fails after the record is stored: the call says so, and the
// same call again completes the change.
func TestUpdateThatIsNotInEffectYet(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, nil)
	d.trackErr = errors.New("journal down")
	r := monitor.UpdateRequest{Name: ptr("renamed"), WebhookURL: ptr("https://new.example.com/")}
	u, err := d.Update(t.Context(), "acme", c.ID, r)
	if !errors.Is(err, d.trackErr) || u.Name != "renamed" || !strings.Contains(err.Error(), "not in effect") {
		t.Errorf("%+v, %v", u, err)
	}
	stored, _ := d.Get(t.Context(), "acme", c.ID)
	if stored.Name != "renamed" || d.webhooks[c.ID] != stored.WebhookURL {
		t.Errorf("stored %+v with webhook %s: they must agree", stored, d.webhooks[c.ID])
	}
	d.trackErr = nil
	if _, err := d.Update(t.Context(), "acme", c.ID, r); err != nil || d.tracked[c.ID].Name != "renamed" {
		t.Errorf("again: %v, tracked %+v", err, d.tracked[c.ID])
	}
}

func ptr[T any](v T) *T { return &v }

func TestPauseAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		c := create(t, d, nil)
		m, err := d.Pause(t.Context(), "acme", c.ID)
		if err != nil || m.Status != monitor.Paused || m.StatusReason != monitor.ReasonUser {
			t.Fatalf("paused %+v, %v", m, err)
		}
		if _, ok := d.tracked[c.ID]; ok {
			t.Error("a paused monitor is still tracked")
		}
		<-time.After(time.Hour)
		m, err = d.Resume(t.Context(), "acme", c.ID)
		if err != nil || m.Status != monitor.Active || m.StatusReason != "" {
			t.Fatalf("resumed %+v, %v", m, err)
		}
		if tm, ok := d.tracked[c.ID]; !ok || !tm.Accounts[0].Since.Equal(time.Now()) {
			t.Error("a resumed monitor counts from now on")
		}
	})
}

func TestListPages(t *testing.T) {
	d := newDesk(t)
	for i := range 45 {
		c := create(t, d, func(r *monitor.CreateRequest) { r.Name = fmt.Sprintf("m%02d", i) })
		if i%3 == 0 {
			if _, err := d.Pause(t.Context(), "acme", c.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, row := range []struct {
		q           monitor.Query
		n, total    int
		first       string
		page, psize int
	}{
		{monitor.Query{}, 20, 45, "m00", 1, 20},
		{monitor.Query{Page: 3}, 5, 45, "m40", 3, 20},
		{monitor.Query{Page: 4}, 0, 45, "", 4, 20},
		{monitor.Query{Page: math.MaxInt}, 0, 45, "", math.MaxInt, 20},
		{monitor.Query{PageSize: 100, Status: monitor.Paused}, 15, 15, "m00", 1, 100},
		{monitor.Query{PageSize: 7, Page: 2, Status: monitor.Active}, 7, 30, "m11", 2, 7},
	} {
		row.q.Owner = "acme"
		p, err := d.List(t.Context(), row.q)
		if err != nil || len(p.Monitors) != row.n || p.Total != row.total || p.Page != row.page || p.PageSize != row.psize {
			t.Errorf("%+v: %d of %d, page %d of size %d, %v", row.q, len(p.Monitors), p.Total, p.Page, p.PageSize, err)
			continue
		}
		if row.n > 0 && p.Monitors[0].Name != row.first {
			t.Errorf("%+v begins with %s, want %s", row.q, p.Monitors[0].Name, row.first)
		}
	}
	for field, q := range map[string]monitor.Query{"page": {Page: -1}, "page_size": {PageSize: 101}, "status": {Status: "x"}} {
		_, err := d.List(t.Context(), q)
		var fe *monitor.FieldError
		if !errors.As(err, &fe) || fe.Field != field {
			t.Errorf("%+v: error %v, want one about %s", q, err, field)
		}
	}
}

func TestDeleteAndForeignIDs(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, nil)
	for name, call := range map[string]func(owner string) error{
		"get":    func(o string) error { _, err := d.Get(t.Context(), o, c.ID); return err },
		"update": func(o string) error { _, err := d.Pause(t.Context(), o, c.ID); return err },
		"delete": func(o string) error { return d.Delete(t.Context(), o, c.ID) },
	} {
		if err := call("thief"); !errors.Is(err, monitor.ErrNotFound) {
			t.Errorf("%s of a foreign id: %v, want ErrNotFound", name, err)
		}
	}
	if err := d.Delete(t.Context(), "acme", c.ID); err != nil {
		t.Fatal(err)
	}
	if len(d.tracked) != 0 || len(d.webhooks) != 0 {
		t.Error("delete left something behind")
	}
	if err := d.Delete(t.Context(), "acme", c.ID); !errors.Is(err, monitor.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestTroubleBecomesTheStatusReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- d.Run(ctx) }()
		c := create(t, d, nil)
		reason := func() string {
			t.Helper()
			synctest.Wait()
			m, err := d.Get(t.Context(), "acme", c.ID)
			if err != nil || m.Status != monitor.Active {
				t.Fatalf("%+v, %v: the monitor stays active", m, err)
			}
			return m.StatusReason
		}
		d.Report("acme", c.ID, "esa", errors.New("not found"))
		if got := reason(); got != "upstream_error: @esa: not found" {
			t.Errorf("reason = %q", got)
		}
		d.Report("acme", c.ID, "NASA", errors.New("protected"))
		if got := reason(); got != "upstream_error: @NASA: protected (and 1 more)" {
			t.Errorf("reason = %q", got)
		}
		users := []string{"esa"}
		if _, err := d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{Usernames: &users}); err != nil {
			t.Fatal(err)
		}
		if got := reason(); got != "upstream_error: @esa: not found" {
			t.Errorf("after the failing account went: %q", got)
		}
		d.Report("acme", c.ID, "esa", nil)
		if got := reason(); got != "" {
			t.Errorf("after the recovery: %q", got)
		}
		d.Report("acme", "mon_unknown", "x", errors.New("y"))
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestManagerConfigErrorsNameTheField(t *testing.T) {
	d := newDesk(t)
	for want, c := range map[string]monitor.Config{
		"Store":                {},
		"MaxAccounts -1":       {Store: d.store.Monitors(), Tracker: d, Webhooks: d, MaxAccounts: -1},
		"MinInterval -1s":      {Store: d.store.Monitors(), Tracker: d, Webhooks: d, MinInterval: -time.Second, DefaultInterval: time.Second},
		"DefaultInterval 48h":  {Store: d.store.Monitors(), Tracker: d, Webhooks: d, DefaultInterval: 48 * time.Hour},
		"DefaultInterval 10ms": {Store: d.store.Monitors(), Tracker: d, Webhooks: d, DefaultInterval: 10 * time.Millisecond},
	} {
		if _, err := monitor.NewManager(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that names %s", err, want)
		}
	}
}

// What was not asked for is the default of whoever runs the monitor.
func TestIntervalThatWasNotAskedFor(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, func(r *monitor.CreateRequest) { r.PollInterval = 0 })
	if c.PollInterval != time.Minute {
		t.Errorf("created with %v, want the default reported", c.PollInterval)
	}
	for _, tc := range []struct {
		cfg  monitor.Config
		want time.Duration
	}{
		{monitor.Config{DefaultInterval: 5 * time.Minute}, 5 * time.Minute},
		{monitor.Config{Paced: true}, 0},
	} {
		tc.cfg.Store, tc.cfg.Tracker, tc.cfg.Webhooks = d.store.Monitors(), d, d
		other, err := monitor.NewManager(tc.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := other.Get(t.Context(), "acme", c.ID); err != nil || m.PollInterval != tc.want {
			t.Errorf("read with %v, %v, want %v", m.PollInterval, err, tc.want)
		}
		if m, err := other.Pause(t.Context(), "acme", c.ID); err != nil || m.PollInterval != tc.want {
			t.Errorf("paused with %v, %v, want %v", m.PollInterval, err, tc.want)
		}
		name := "renamed " + tc.want.String()
		if m, err := other.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{Name: &name}); err != nil || m.PollInterval != tc.want {
			t.Errorf("renamed with %v, %v, want %v", m.PollInterval, err, tc.want)
		}
	}
}
