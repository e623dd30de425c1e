package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

func TestCreate(t *testing.T) {
	d := newDesk(t, func(c *monitor.Config) {
		c.Price = func(m monitor.Monitor) int64 { return 10 * int64(len(m.Accounts)) }
	})
	c := d.create(t, func(r *monitor.CreateRequest) {
		r.FilterTypes, r.Weight = []monitor.FilterType{monitor.Original}, 2
	})
	at := c.CreatedAt
	want := monitor.Monitor{ID: c.ID, Owner: "acme", Name: "space", Accounts: []monitor.Account{{Username: "NASA", Since: at}, {Username: "esa", Since: at}},
		FilterTypes: []monitor.FilterType{monitor.Original}, Weight: 2, PollInterval: time.Minute,
		WebhookURL: "https://h.example.com/", WebhookID: "ep_of_" + c.ID, WebhookSecretSet: true, Status: monitor.Active, CreatedAt: at, UpdatedAt: at, Version: 1}
	if !strings.HasPrefix(c.ID, "mon_") || at.IsZero() || !reflect.DeepEqual(c.Monitor, want) || c.WebhookSecret != "whsec_generated" {
		t.Errorf("created %+v\nwant    %+v", c.Monitor, want)
	}
	if got, err := d.Get(t.Context(), "acme", c.ID); err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(d.tracked[c.ID], want) {
		t.Errorf("stored  %+v, %v\ntracked %+v\nwant    %+v", got, err, d.tracked[c.ID], want)
	}
	if r := d.stored(t, c.ID); r.Price != 20 || r.Size != 2 {
		t.Errorf("price %d and size %d, want 20 and 2", r.Price, r.Size)
	}
	if strings.Contains(fmt.Sprintf("%+v", c), "whsec_generated") {
		t.Error("the secret prints")
	}
	if _, err := d.Create(t.Context(), valid()); !errors.Is(err, monitor.ErrDuplicate) {
		t.Errorf("the name again: %v, want %v", err, monitor.ErrDuplicate)
	}
}

func TestRefusedFields(t *testing.T) {
	d := newDesk(t, func(c *monitor.Config) {
		c.CheckAccount = func(name string) error {
			if name == "nobody" {
				return errors.New("a name of this platform")
			}
			return nil
		}
	})
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("a%d", i)
	}
	c := d.create(t, func(r *monitor.CreateRequest) { r.Name = "first" })
	for _, tt := range []struct {
		field  string
		create func(*monitor.CreateRequest)
		update monitor.UpdateRequest
	}{
		{field: "name", create: func(r *monitor.CreateRequest) { r.Name = "" }, update: monitor.UpdateRequest{Name: ptr("")}},
		{field: "name", create: func(r *monitor.CreateRequest) { r.Name = "   " }, update: monitor.UpdateRequest{Name: ptr("   ")}},
		{field: "name", create: func(r *monitor.CreateRequest) { r.Name = strings.Repeat("é", 101) }},
		{field: "name", create: func(r *monitor.CreateRequest) { r.Name = "a\x00b" }},
		{field: "name", create: func(r *monitor.CreateRequest) { r.Name = "\xff" }},
		{field: "usernames", create: func(r *monitor.CreateRequest) { r.Usernames = nil }, update: monitor.UpdateRequest{Usernames: &[]string{}}},
		{field: "usernames", create: func(r *monitor.CreateRequest) { r.Usernames = []string{"a", ""} }},
		{field: "usernames", create: func(r *monitor.CreateRequest) { r.Usernames = []string{"@@a"} }, update: monitor.UpdateRequest{Usernames: &[]string{"@@a"}}},
		{field: "usernames", create: func(r *monitor.CreateRequest) { r.Usernames = []string{"nobody"} }, update: monitor.UpdateRequest{Usernames: &[]string{"nobody"}}},
		{field: "usernames", create: func(r *monitor.CreateRequest) { r.Usernames = many }, update: monitor.UpdateRequest{Usernames: &many}},
		{field: "filter_types", create: func(r *monitor.CreateRequest) { r.FilterTypes = []monitor.FilterType{"likes"} }, update: monitor.UpdateRequest{FilterTypes: &[]monitor.FilterType{"likes"}}},
		{field: "filter_types", create: func(r *monitor.CreateRequest) { r.FilterTypes = []monitor.FilterType{"reply", "reply"} }},
		{field: "poll_interval_seconds", create: func(r *monitor.CreateRequest) { r.PollInterval = time.Millisecond }, update: monitor.UpdateRequest{PollInterval: ptr(time.Millisecond)}},
		{field: "poll_interval_seconds", create: func(r *monitor.CreateRequest) { r.PollInterval = -time.Second }},
		{field: "poll_interval_seconds", create: func(r *monitor.CreateRequest) { r.PollInterval = 25 * time.Hour }},
		{field: "weight", create: func(r *monitor.CreateRequest) { r.Weight = -1 }, update: monitor.UpdateRequest{Weight: ptr(-0.5)}},
		{field: "weight", create: func(r *monitor.CreateRequest) { r.Weight = math.NaN() }},
		{field: "weight", create: func(r *monitor.CreateRequest) { r.Weight = 1001 }},
		{field: "webhook_url", create: func(r *monitor.CreateRequest) { r.WebhookURL = "ftp://x" }, update: monitor.UpdateRequest{WebhookURL: ptr("ftp://x")}},
		{field: "webhook_secret", create: func(r *monitor.CreateRequest) { r.WebhookURL, r.WebhookSecret = "", "0123456789012345678901234" },
			update: monitor.UpdateRequest{WebhookSecret: ptr(secret.Value(""))}},
		{field: "status", update: monitor.UpdateRequest{Status: ptr(monitor.Status("stopped"))}},
	} {
		check := func(what string, err error) {
			var fe *monitor.FieldError
			if !errors.As(err, &fe) || fe.Wire != tt.field || fe.Allowed == "" || strings.Contains(err.Error(), "0123456789") || len(err.Error()) > 400 {
				t.Errorf("%s: error %v, want a short one about %s that says what is allowed", what, err, tt.field)
			}
		}
		if tt.create != nil {
			r := valid()
			tt.create(&r)
			_, err := d.Create(t.Context(), r)
			check(fmt.Sprintf("create %+v", r), err)
		}
		if !reflect.DeepEqual(tt.update, monitor.UpdateRequest{}) {
			_, err := d.Update(t.Context(), "acme", c.ID, tt.update)
			check(fmt.Sprintf("update %+v", tt.update), err)
		}
	}
	if p, err := d.Page(t.Context(), monitor.Query{Owner: "acme"}); err != nil || p.Total != 1 || p.Monitors[0].Version != 1 {
		t.Errorf("the refused requests left %+v, %v", p, err)
	}
}

// An update changes the fields that it names. Accounts that stay keep their Since, new ones begin now.
func TestUpdate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		r      monitor.UpdateRequest
		change func(m *monitor.Monitor, now time.Time) // what else is than was
	}{
		{"nothing", monitor.UpdateRequest{}, func(*monitor.Monitor, time.Time) {}},
		{"name", monitor.UpdateRequest{Name: ptr("renamed")}, func(m *monitor.Monitor, _ time.Time) { m.Name = "renamed" }},
		{"filter", monitor.UpdateRequest{FilterTypes: &[]monitor.FilterType{monitor.Quote}}, func(m *monitor.Monitor, _ time.Time) { m.FilterTypes = []monitor.FilterType{monitor.Quote} }},
		{"interval", monitor.UpdateRequest{PollInterval: ptr(5 * time.Second)}, func(m *monitor.Monitor, _ time.Time) { m.PollInterval = 5 * time.Second }},
		{"the default interval", monitor.UpdateRequest{PollInterval: ptr(time.Duration(0))}, func(m *monitor.Monitor, _ time.Time) { m.PollInterval = time.Minute }},
		{"weight", monitor.UpdateRequest{Weight: ptr(3.0)}, func(m *monitor.Monitor, _ time.Time) { m.Weight = 3 }},
		{"webhook", monitor.UpdateRequest{WebhookURL: ptr("https://b.example.com/")}, func(m *monitor.Monitor, _ time.Time) { m.WebhookURL = "https://b.example.com/" }},
		{"accounts", monitor.UpdateRequest{Usernames: &[]string{"@ESA", "jaxa", "esa"}}, func(m *monitor.Monitor, now time.Time) {
			m.Accounts = []monitor.Account{{Username: "ESA", Since: m.CreatedAt}, {Username: "jaxa", Since: now}}
		}},
		{"an account by another name", monitor.UpdateRequest{Usernames: &[]string{"esa@space.example"}}, func(m *monitor.Monitor, _ time.Time) {
			m.Accounts = []monitor.Account{{Username: "esa@space.example", Since: m.CreatedAt}}
		}},
		{"pause", monitor.UpdateRequest{Status: ptr(monitor.Paused)}, func(m *monitor.Monitor, _ time.Time) {
			m.Status, m.StatusReason = monitor.Paused, monitor.ReasonUser
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, func(c *monitor.Config) {
					c.Canonical = func(name string) string { return strings.TrimSuffix(name, "@space.example") }
				})
				want := d.create(t, func(r *monitor.CreateRequest) { r.PollInterval = 30 * time.Second }).Monitor
				<-time.After(time.Hour)
				u, err := d.Update(t.Context(), "acme", want.ID, tt.r)
				now := time.Now().UTC().Round(0)
				want.Version, want.UpdatedAt = 2, now
				tt.change(&want, now)
				if err != nil || !reflect.DeepEqual(u.Monitor, want) {
					t.Errorf("changed to %+v, %v\nwant       %+v", u.Monitor, err, want)
				}
				if got, err := d.Get(t.Context(), "acme", want.ID); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("stored %+v, %v\nwant   %+v", got, err, want)
				}
			})
		})
	}
}

// A resumed monitor begins anew, a restored one where polls have read to.
func TestSinceAfterAPause(t *testing.T) {
	errRead := errors.New("no answer")
	for _, tt := range []struct {
		name    string
		do      func(context.Context, *desk, string) (monitor.Monitor, error)
		want    []time.Duration // after the creation
		readErr error
	}{
		{"paused and resumed", func(ctx context.Context, d *desk, id string) (monitor.Monitor, error) {
			if _, err := d.Pause(ctx, "acme", id); err != nil {
				return monitor.Monitor{}, err
			}
			return d.Resume(ctx, "acme", id)
		}, []time.Duration{time.Hour, time.Hour, time.Hour}, nil},
		{"suspended and restored", func(ctx context.Context, d *desk, id string) (monitor.Monitor, error) {
			if _, err := d.Suspend(ctx, "acme", id, monitor.ReasonCredits); err != nil {
				return monitor.Monitor{}, err
			}
			return d.Restore(ctx, "acme", id, monitor.ReasonCredits)
		}, []time.Duration{50 * time.Minute, 0, 0}, nil},
		{"not suspended", func(ctx context.Context, d *desk, id string) (monitor.Monitor, error) {
			if _, err := d.Suspend(ctx, "acme", id, monitor.ReasonCredits); !errors.Is(err, errRead) {
				return monitor.Monitor{}, fmt.Errorf("error %w, want %w", err, errRead)
			}
			return d.Get(ctx, "acme", id)
		}, []time.Duration{0, 0, 0}, errRead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				c := d.create(t, func(r *monitor.CreateRequest) { r.Usernames = []string{"NASA", "esa", "jaxa"} })
				<-time.After(time.Hour)
				// jaxa was not read, and esa was before it was added.
				d.read, d.readErr = map[string]time.Time{"nasa": c.CreatedAt.Add(50 * time.Minute), "esa": c.CreatedAt.Add(-10 * time.Minute)}, tt.readErr
				m, err := tt.do(t.Context(), d, c.ID)
				if err != nil || m.Status != monitor.Active || m.PollInterval != time.Minute {
					t.Fatalf("%+v, %v; want it active, with the default interval", m, err)
				}
				for i, want := range tt.want {
					if got := m.Accounts[i].Since.Sub(c.CreatedAt); got != want {
						t.Errorf("%s since %s after the creation, want %s", m.Accounts[i].Username, got, want)
					}
				}
				if !reflect.DeepEqual(d.tracked[c.ID], m) {
					t.Errorf("tracked %+v, want %+v", d.tracked[c.ID], m)
				}
			})
		})
	}
}

// Limits is asked about each change, with what was and what will be.
func TestLimits(t *testing.T) {
	errLimits := errors.New("not now")
	var asked string
	d := newDesk(t, func(c *monitor.Config) {
		c.Limits = func(_ context.Context, was *monitor.Monitor, is monitor.Monitor, endpoint bool) ([]control.Limit, error) {
			asked = fmt.Sprint(is.Status, " ", len(is.Accounts), " ", endpoint)
			if was != nil {
				asked = fmt.Sprint(was.Status, " ", len(was.Accounts), " → ", asked)
			}
			if is.Name == "refused" {
				return nil, errLimits
			}
			return []control.Limit{{Limit: record.Limit{Owner: is.Owner, Kinds: []record.Kind{record.Monitor}, Of: record.Size, Max: 2},
				Exceeded: func(have int64) error { return fmt.Errorf("%d accounts: %w", have, errLimits) }}}, nil
		}
	})
	c := d.create(t, nil)
	for _, tt := range []struct {
		asked, err string
		do         func() error
	}{
		{"active 2 false", "not now", func() error {
			_, err := d.Create(t.Context(), monitor.CreateRequest{Name: "refused", Usernames: []string{"a", "b"}})
			return err
		}},
		{"active 1 true", "3 accounts: not now", func() error {
			_, err := d.Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: "b", Usernames: []string{"a"}, WebhookURL: "https://h.example.com/"})
			return err
		}},
		{"active 2 → active 3 false", "3 accounts: not now", func() error {
			_, err := d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{Usernames: &[]string{"a", "b", "c"}})
			return err
		}},
		{"active 2 → paused 2 false", "<nil>", func() error {
			_, err := d.Suspend(t.Context(), "acme", c.ID, monitor.ReasonCredits)
			return err
		}},
		{"paused 2 → active 2 false", "<nil>", func() error {
			_, err := d.Restore(t.Context(), "acme", c.ID, monitor.ReasonCredits)
			return err
		}},
	} {
		if err := tt.do(); fmt.Sprint(err) != tt.err || asked != tt.asked {
			t.Errorf("asked about %s, error %v; want %s, %s", asked, err, tt.asked, tt.err)
		}
	}
}

// A failure is of an account under each of its names. It ends with the account's recovery, when the
// monitor no longer has the account, and here when another process polls it.
func TestReport(t *testing.T) {
	const protected = "upstream_error: @esa: protected"
	for _, tt := range []struct {
		name string
		do   func(context.Context, *desk, string) error
		want string // a minute after the note was erased by hand
	}{
		{"it lasts", func(context.Context, *desk, string) error { return nil }, protected},
		{"recovered", func(_ context.Context, d *desk, id string) error { d.Report("acme", id, "esa", nil); return nil }, ""},
		{"the account by another name", func(ctx context.Context, d *desk, id string) error {
			_, err := d.Update(ctx, "acme", id, monitor.UpdateRequest{Usernames: &[]string{"ESA@space.example"}})
			return err
		}, protected},
		{"without the account", func(ctx context.Context, d *desk, id string) error {
			_, err := d.Update(ctx, "acme", id, monitor.UpdateRequest{Usernames: &[]string{"nasa"}})
			return err
		}, ""},
		{"polled elsewhere", func(_ context.Context, d *desk, _ string) error {
			d.Forget(func(username string) bool { return username == "esa" })
			return nil
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, func(c *monitor.Config) {
					c.Canonical = func(name string) string { return strings.TrimSuffix(name, "@space.example") }
				})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- d.Run(ctx) }()
				c := d.create(t, nil)
				d.Report("acme", c.ID, "esa", errors.New("protected"))
				synctest.Wait()
				if m, err := d.Get(t.Context(), "acme", c.ID); err != nil || m.StatusReason != protected || m.Status != monitor.Active || m.Version != 1 {
					t.Errorf("reported: %+v, %v", m, err)
				}
				if err := tt.do(t.Context(), d, c.ID); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				erase := record.Note{Ref: record.Ref{Key: record.Key{Kind: record.Monitor, ID: c.ID}, Owner: "acme"}}
				if _, err := d.store.Apply(t.Context(), record.Change{Notes: []record.Note{erase}}); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
				synctest.Wait()
				if got := d.stored(t, c.ID).Note; got != tt.want {
					t.Errorf("note %q, want %q", got, tt.want)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestManagerConfigErrorsNameTheField(t *testing.T) {
	d := newDesk(t, nil)
	for want, change := range map[string]func(*monitor.Config){
		"Records":              func(c *monitor.Config) { c.Records = nil },
		"a Tracker":            func(c *monitor.Config) { c.Tracker = nil },
		"Webhooks":             func(c *monitor.Config) { c.Webhooks = nil },
		"MaxAccounts -1":       func(c *monitor.Config) { c.MaxAccounts = -1 },
		"MinInterval -1s":      func(c *monitor.Config) { c.MinInterval, c.DefaultInterval = -time.Second, time.Second },
		"MinInterval 25h":      func(c *monitor.Config) { c.MinInterval = 25 * time.Hour },
		"DefaultInterval 48h":  func(c *monitor.Config) { c.DefaultInterval = 48 * time.Hour },
		"DefaultInterval 10ms": func(c *monitor.Config) { c.DefaultInterval = 10 * time.Millisecond },
	} {
		cfg := monitor.Config{Records: d.store, Tracker: d, Webhooks: webhooks{}}
		change(&cfg)
		if _, err := monitor.NewManager(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that names %s", err, want)
		}
	}
}

// The interval of a monitor that was created without one is the default of the manager that reads
// it, wherever that returns or tracks it. Limits of this manager do not touch what is stored.
func TestIntervalThatWasNotAskedFor(t *testing.T) {
	first := newDesk(t, nil)
	c := first.create(t, nil)
	fast := first.create(t, func(r *monitor.CreateRequest) { r.Name, r.PollInterval = "fast", time.Second })
	for _, tt := range []struct {
		change      func(*monitor.Config)
		want, least time.Duration
	}{
		{func(c *monitor.Config) {}, time.Minute, 0},
		{func(c *monitor.Config) { c.DefaultInterval = 5 * time.Minute }, 5 * time.Minute, 0},
		{func(c *monitor.Config) { c.MinInterval = 2 * time.Minute }, 2 * time.Minute, 0},
		{func(c *monitor.Config) { c.Paced = true }, 0, 0},
		{func(c *monitor.Config) { c.Shortest = func([]monitor.Account) time.Duration { return 5 * time.Minute } }, 5 * time.Minute, 5 * time.Minute},
	} {
		d := deskOver(t, first.store, tt.change)
		for what, do := range map[string]func() (monitor.Monitor, error){
			"read": func() (monitor.Monitor, error) { return d.Get(t.Context(), "acme", c.ID) },
			"updated": func() (monitor.Monitor, error) {
				u, err := d.Update(t.Context(), "acme", c.ID, monitor.UpdateRequest{})
				return u.Monitor, err
			},
			"listed": func() (monitor.Monitor, error) {
				p, err := d.Page(t.Context(), monitor.Query{Owner: "acme"})
				return p.Monitors[0], err
			},
			"each": func() (got monitor.Monitor, err error) {
				return got, d.Each(t.Context(), func(m monitor.Monitor) error {
					if m.ID == c.ID {
						got = m
					}
					return nil
				})
			},
			"reread": func() (monitor.Monitor, error) {
				err := d.Reread(t.Context(), control.Start{}, func(monitor.Monitor) bool { return false })
				return d.tracked[c.ID], err
			},
		} {
			if m, err := do(); err != nil || m.PollInterval != tt.want {
				t.Errorf("%s with %s, %v; want %s", what, m.PollInterval, err, tt.want)
			}
		}
		if m, err := d.Pause(t.Context(), "acme", fast.ID); err != nil || m.PollInterval != max(time.Second, tt.least) {
			t.Errorf("a stored interval: %s, %v", m.PollInterval, err)
		}
	}
}

// Ensure compares what a request can say, in whatever order and spelling.
func TestEnsure(t *testing.T) {
	d := newDesk(t, nil)
	first, err := d.Ensure(t.Context(), valid())
	if err != nil || first.Version != 1 || first.WebhookSecret != "whsec_generated" || len(d.tracked) != 1 {
		t.Fatalf("Ensure: %+v, %v; want a new monitor", first, err)
	}
	version := int64(1)
	for _, row := range []struct {
		name    string
		change  func(*monitor.CreateRequest)
		changes bool
	}{
		{"equal", func(*monitor.CreateRequest) {}, false},
		{"accounts in another order and spelling", func(r *monitor.CreateRequest) { r.Usernames = []string{"ESA", "nasa"} }, false},
		{"an account more", func(r *monitor.CreateRequest) { r.Usernames = append(r.Usernames, "jaxa") }, true},
		{"an account less", func(*monitor.CreateRequest) {}, true},
		{"kinds", func(r *monitor.CreateRequest) { r.FilterTypes = []monitor.FilterType{monitor.Reply, monitor.Quote} }, true},
		{"kinds in another order", func(r *monitor.CreateRequest) { r.FilterTypes = []monitor.FilterType{monitor.Quote, monitor.Reply} }, false},
		{"all kinds", func(*monitor.CreateRequest) {}, true},
		{"an interval", func(r *monitor.CreateRequest) { r.PollInterval = time.Hour }, true},
		{"the default interval", func(*monitor.CreateRequest) {}, true},
		{"a weight", func(r *monitor.CreateRequest) { r.Weight = 2 }, true},
		{"no webhook", func(r *monitor.CreateRequest) { r.Weight, r.WebhookURL = 2, "" }, true},
	} {
		r := valid()
		row.change(&r)
		got, err := d.Ensure(t.Context(), r)
		if row.changes {
			version++
		}
		if err != nil || got.ID != first.ID || got.Version != version || got.PollInterval != max(r.PollInterval, time.Minute) || got.Weight != r.Weight || got.WebhookURL != r.WebhookURL {
			t.Errorf("%s: %+v, %v; want version %d", row.name, got, err, version)
		}
		for _, a := range got.Accounts[:2] {
			if a.Since != first.CreatedAt {
				t.Errorf("%s: Since of %s is %v, want that of the creation", row.name, a.Username, a.Since)
			}
		}
	}
	for _, bad := range []func(*monitor.CreateRequest){
		func(r *monitor.CreateRequest) { r.Name = "" },
		func(r *monitor.CreateRequest) { r.Usernames = nil },
		func(r *monitor.CreateRequest) { r.PollInterval = 1 },
		func(r *monitor.CreateRequest) { r.FilterTypes = []monitor.FilterType{"likes"} },
		func(r *monitor.CreateRequest) { r.WebhookURL = "ftp://h.example.com/" },
	} {
		r := valid()
		bad(&r)
		var field *monitor.FieldError
		if _, err := d.Ensure(t.Context(), r); !errors.As(err, &field) {
			t.Errorf("%+v: %v, want a *FieldError", r, err)
		}
	}
	if got, err := d.Get(t.Context(), "acme", first.ID); err != nil || got.Version != version {
		t.Errorf("after requests that were refused: %+v, %v", got, err)
	}
	for mon, err := range d.List(t.Context(), monitor.Query{Owner: "acme"}) {
		if err != nil || mon.ID != first.ID || mon.PollInterval != time.Minute {
			t.Errorf("List: %+v, %v; want the only monitor, with its interval", mon, err)
		}
	}
}
