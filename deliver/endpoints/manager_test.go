package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

func newManager(t *testing.T, tune func(*endpoints.Config)) (*endpoints.Manager, *bench) {
	t.Helper()
	b := newBench(t, nil, func(c *dispatch.Config) {
		c.Senders["nats"] = deliver.Handlers{}
	})
	cfg := endpoints.Config{Store: b.store.Endpoints(), Dispatcher: b.d}
	if tune != nil {
		tune(&cfg)
	}
	m, err := endpoints.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, b
}

func TestManagerCreates(t *testing.T) {
	m, _ := newManager(t, nil)
	e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://hooks.example.com/x"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(e.ID, "whk_") || e.Status != deliver.EndpointActive || e.CreatedAt.IsZero() {
		t.Errorf("created %+v", e)
	}
	if err := deliver.CheckSecret(e.Secret); err != nil || !strings.HasPrefix(string(e.Secret), "whsec_") {
		t.Errorf("generated secret of %d characters: %v", len(e.Secret), err)
	}
	if s := fmt.Sprintf("%+v %#v", e, e); strings.Contains(s, string(e.Secret)) {
		t.Error("the secret prints")
	}
	if _, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://hooks.example.com/x"}); !errors.Is(err, deliver.ErrEndpointDuplicate) {
		t.Errorf("the same URL twice: %v", err)
	}
	if _, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("b"), URL: "https://hooks.example.com/x"}); err != nil {
		t.Errorf("another source may have the URL: %v", err)
	}
	if _, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "nats://subject"}); err != nil {
		t.Errorf("a custom sender's URL: %v", err)
	}
	list, err := m.List(t.Context(), "o", "a")
	if err != nil || len(list) != 2 {
		t.Fatalf("list %v, %v", list, err)
	}
	for _, e := range list {
		if e.Secret != "" {
			t.Error("a list must not hold secrets")
		}
	}
}

func TestManagerRefuses(t *testing.T) {
	m, _ := newManager(t, nil)
	const good = "https://hooks.example.com/x"
	for name, row := range map[string]struct {
		n     endpoints.NewEndpoint
		field string
	}{
		"no source":       {endpoints.NewEndpoint{URL: good}, "source"},
		"http":            {endpoints.NewEndpoint{Source: src("a"), URL: "http://hooks.example.com/x"}, "webhook_url"},
		"private address": {endpoints.NewEndpoint{Source: src("a"), URL: "https://10.0.0.1/x"}, "webhook_url"},
		"unknown scheme":  {endpoints.NewEndpoint{Source: src("a"), URL: "ftp://hooks.example.com/x"}, "webhook_url"},
		"handler":         {endpoints.NewEndpoint{Source: src("a"), URL: "handler:default"}, "webhook_url"},
		"endless":         {endpoints.NewEndpoint{Source: src("a"), URL: "nats://" + strings.Repeat("x", 3000)}, "webhook_url"},
		"short secret":    {endpoints.NewEndpoint{Source: src("a"), URL: good, Secret: "tooshort-tooshort"}, "webhook_secret"},
	} {
		_, err := m.Create(t.Context(), row.n)
		var fe *deliver.FieldError
		if !errors.As(err, &fe) || fe.Field != row.field || fe.Allowed == "" || strings.Contains(err.Error(), "tooshort") {
			t.Errorf("%s: error %v, want one about %s", name, err, row.field)
		}
	}
	private, _ := newManager(t, func(c *endpoints.Config) { c.AllowPrivate = true })
	if _, err := private.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "http://127.0.0.1:8080/x"}); err != nil {
		t.Errorf("with AllowPrivate: %v", err)
	}
	if _, err := endpoints.New(endpoints.Config{}); err == nil {
		t.Error("a manager without a store must be refused")
	}
}

func TestManagerUpdates(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m, b := newManager(t, func(c *endpoints.Config) { c.Now = func() time.Time { return now } })
	created, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://one.example.com/",
		Headers: []deliver.Header{{Name: "X-Tenant", Value: "acme"}}, Limits: deliver.Limits{Rate: 5}})
	if err != nil {
		t.Fatal(err)
	}
	const key = "0123456789012345678901234567"
	for _, row := range []struct {
		name   string
		update endpoints.Update
		want   func(*deliver.Endpoint)
	}{
		{"nothing", endpoints.Update{}, func(*deliver.Endpoint) {}},
		{"the URL", endpoints.Update{URL: ptr("https://two.example.com/")}, func(e *deliver.Endpoint) { e.URL = "https://two.example.com/" }},
		{"the headers", endpoints.Update{Headers: []deliver.Header{{Name: "X-Other", Value: "b"}}}, func(e *deliver.Endpoint) {
			e.Headers = []deliver.Header{{Name: "X-Other", Value: "b"}}
		}},
		{"no headers", endpoints.Update{Headers: []deliver.Header{}}, func(e *deliver.Endpoint) { e.Headers = nil }},
		{"the limits", endpoints.Update{Limits: &deliver.Limits{Rate: 0.5, Burst: 3, InFlight: 1}}, func(e *deliver.Endpoint) {
			e.Limits = deliver.Limits{Rate: 0.5, Burst: 3, InFlight: 1}
		}},
		{"the secret", endpoints.Update{Secret: ptr(deliver.Secret(key))}, func(e *deliver.Endpoint) {
			e.Secret, e.OldSecrets = key, []deliver.OldSecret{{Secret: created.Secret, Until: now.Add(endpoints.DefaultOverlap)}}
		}},
		{"to the secret there is", endpoints.Update{Secret: ptr(deliver.Secret(key))}, func(*deliver.Endpoint) {}},
	} {
		t.Run(row.name, func(t *testing.T) {
			want, err := b.store.Endpoints().Get(t.Context(), "o", created.ID)
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
			row.want(&want)
			want.UpdatedAt = now
			want.Version++
			got, err := m.Update(t.Context(), "o", created.ID, row.update)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := b.store.Endpoints().Get(t.Context(), "o", created.ID)
			if err != nil || !sameEndpoint(stored, want) {
				t.Errorf("stored another endpoint than wanted (%v): %+v, want %+v", err, stored, want)
			}
			if want.Secret = ""; row.update.Secret != nil {
				want.Secret = key
			}
			if !sameEndpoint(got, hidden(want)) {
				t.Errorf("got %+v, want %+v, with a secret only after a rotation", got, want)
			}
		})
	}
}

// An update that is not allowed in one part is not made in any.
func TestManagerUpdateIsAllOrNothing(t *testing.T) {
	m, b := newManager(t, nil)
	e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://one.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := b.store.Endpoints().Get(t.Context(), "o", e.ID)
	good := endpoints.Update{URL: ptr("https://two.example.com/"), Secret: ptr(deliver.Secret("")), Headers: []deliver.Header{{Name: "X-A", Value: "a"}}, Limits: &deliver.Limits{Rate: 1}}
	for field, spoil := range map[string]func(*endpoints.Update){
		"webhook_url":     func(u *endpoints.Update) { u.URL = ptr("https://10.0.0.1/") },
		"webhook_secret":  func(u *endpoints.Update) { u.Secret = ptr(deliver.Secret("short")) },
		"overlap":         func(u *endpoints.Update) { u.Overlap = ptr(-time.Second) },
		"headers":         func(u *endpoints.Update) { u.Headers = []deliver.Header{{Name: "Host", Value: "a"}} },
		"rate_per_second": func(u *endpoints.Update) { u.Limits = &deliver.Limits{Rate: -1} },
	} {
		u := good
		spoil(&u)
		_, err := m.Update(t.Context(), "o", e.ID, u)
		var fe *deliver.FieldError
		if !errors.As(err, &fe) || fe.Field != field {
			t.Errorf("%s: error %v", field, err)
		}
		if after, _ := b.store.Endpoints().Get(t.Context(), "o", e.ID); !sameEndpoint(after, before) {
			t.Errorf("%s: changed to %+v", field, after)
		}
	}
	if _, err := m.Update(t.Context(), "o", e.ID, good); err != nil {
		t.Errorf("the same without the fault: %v", err)
	}
}

func TestManagerLimits(t *testing.T) {
	m, _ := newManager(t, nil)
	for i, row := range []struct {
		limits deliver.Limits
		field  string // refused, "" if not
	}{
		{deliver.Limits{}, ""},
		{deliver.Limits{Rate: 0.01, Burst: 1, InFlight: 1}, ""},
		{deliver.Limits{Rate: 10_000, Burst: 10_000, InFlight: 1024}, ""},
		{deliver.Limits{InFlight: 7}, ""},
		{deliver.Limits{Rate: 0.009}, "rate_per_second"},
		{deliver.Limits{Rate: 10_001}, "rate_per_second"},
		{deliver.Limits{Rate: -1}, "rate_per_second"},
		{deliver.Limits{Rate: math.NaN()}, "rate_per_second"},
		{deliver.Limits{Rate: math.Inf(1)}, "rate_per_second"},
		{deliver.Limits{Rate: 1, Burst: -1}, "rate_burst"},
		{deliver.Limits{Rate: 1, Burst: 10_001}, "rate_burst"},
		{deliver.Limits{Burst: 5}, "rate_burst"},
		{deliver.Limits{InFlight: -1}, "max_in_flight"},
		{deliver.Limits{InFlight: 1025}, "max_in_flight"},
	} {
		e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: fmt.Sprintf("https://h.example.com/%d", i), Limits: row.limits})
		var fe *deliver.FieldError
		switch {
		case row.field == "" && (err != nil || e.Limits != row.limits):
			t.Errorf("%+v: %+v, %v", row.limits, e.Limits, err)
		case row.field != "" && (!errors.As(err, &fe) || fe.Field != row.field || fe.Allowed == ""):
			t.Errorf("%+v: error %v, want one about %s", row.limits, err, row.field)
		}
	}
}

func TestManagerDisablesAndEnables(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begun := now
	m, b := newManager(t, func(c *endpoints.Config) { c.Now = func() time.Time { return now } })
	e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://one.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	disable := func(reason string) func() (deliver.Endpoint, error) {
		return func() (deliver.Endpoint, error) { return m.Disable(t.Context(), "o", e.ID, reason) }
	}
	enable := func() (deliver.Endpoint, error) { return m.Enable(t.Context(), "o", e.ID) }
	for i, row := range []struct {
		name   string
		do     func() (deliver.Endpoint, error)
		status deliver.EndpointStatus
		reason string
		since  time.Duration // after the creation
		open   int           // deliveries that an event makes
	}{
		{"enabled: nothing changes", enable, deliver.EndpointActive, "", 0, 1},
		{"disabled", disable("answered 410"), deliver.EndpointDisabled, "answered 410", 2 * time.Hour, 0},
		{"disabled again: the first reason stays", disable("by hand"), deliver.EndpointDisabled, "answered 410", 2 * time.Hour, 0},
		{"enabled again", enable, deliver.EndpointActive, "", 4 * time.Hour, 1},
	} {
		now = now.Add(time.Hour)
		got, err := row.do()
		if err != nil || got.Status != row.status || got.StatusReason != row.reason || !got.StatusSince.Equal(begun.Add(row.since)) || got.Secret != "" ||
			got.Status == deliver.EndpointActive && !got.EnabledAt.Equal(now) {
			t.Errorf("%s: %+v, %v", row.name, got, err)
		}
		if got, err = m.Get(t.Context(), "o", e.ID); err != nil || got.StatusReason != row.reason || got.Secret != "" {
			t.Errorf("%s: Get gave %+v, %v", row.name, got, err)
		}
		before := len(b.log())
		b.commit("a", fmt.Sprint(i, "-"), 1, false)
		if made := len(b.log()) - before; made != row.open {
			t.Errorf("%s: an event made %d deliveries, want %d", row.name, made, row.open)
		}
	}
	for _, reason := range []string{"", strings.Repeat("é", 201), "a\nb", "\xff"} {
		var fe *deliver.FieldError
		if _, err := m.Disable(t.Context(), "o", e.ID, reason); !errors.As(err, &fe) || fe.Field != "status_reason" {
			t.Errorf("reason %.10q: %v", reason, err)
		}
	}
	if _, err := m.Disable(t.Context(), "o", e.ID, strings.Repeat("é", 200)); err != nil {
		t.Errorf("200 characters: %v", err)
	}
}

// Another's id is an unknown one, whatever is asked.
func TestManagerOwners(t *testing.T) {
	m, _ := newManager(t, nil)
	e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://one.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []struct{ owner, id string }{{"thief", e.ID}, {"o", "whk_unknown"}} {
		for name, call := range map[string]func() error{
			"Get":     func() error { _, err := m.Get(t.Context(), who.owner, who.id); return err },
			"Update":  func() error { _, err := m.Update(t.Context(), who.owner, who.id, endpoints.Update{}); return err },
			"Disable": func() error { _, err := m.Disable(t.Context(), who.owner, who.id, "x"); return err },
			"Enable":  func() error { _, err := m.Enable(t.Context(), who.owner, who.id); return err },
			"Test":    func() error { _, err := m.Test(t.Context(), who.owner, who.id); return err },
			"Delete":  func() error { return m.Delete(t.Context(), who.owner, who.id) },
		} {
			if err := call(); err != deliver.ErrEndpointNotFound {
				t.Errorf("%s of %v: %v", name, who, err)
			}
		}
		if list, err := m.List(t.Context(), "thief", ""); err != nil || len(list) != 0 {
			t.Errorf("List: %v, %v", list, err)
		}
	}
	if err := m.Delete(t.Context(), "o", e.ID); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), "o", e.ID); err != deliver.ErrEndpointNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestManagerBoundsEndpoints(t *testing.T) {
	m, _ := newManager(t, func(c *endpoints.Config) { c.MaxPerSource = 2 })
	create := func(source string, n int) error {
		_, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src(source), URL: fmt.Sprintf("https://h.example.com/%d", n)})
		return err
	}
	if err := errors.Join(create("a", 1), create("a", 2), create("b", 1)); err != nil {
		t.Fatal(err)
	}
	var fe *deliver.FieldError
	if err := create("a", 3); !errors.As(err, &fe) || fe.Field != "endpoints" {
		t.Errorf("one too many: %v", err)
	}
}

// meeting makes another change between the reading and the writing of one.
type meeting struct {
	deliver.EndpointStore
	others *int // changes still to come
}

func (m meeting) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := m.EndpointStore.Get(ctx, owner, id)
	if err == nil && *m.others > 0 {
		*m.others--
		other := e
		other.Limits.Burst++
		err = m.EndpointStore.Update(ctx, other)
	}
	return e, err
}

// Of changes that meet none is lost; one that meets others again and again is
// given up.
func TestManagerChangesThatMeet(t *testing.T) {
	for _, row := range []struct {
		others int
		want   error
	}{{0, nil}, {1, nil}, {19, nil}, {20, deliver.ErrEndpointConflict}} {
		others := 0
		var raw deliver.EndpointStore
		m, b := newManager(t, func(c *endpoints.Config) {
			raw = c.Store
			c.Store = meeting{raw, &others}
		})
		e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://one.example.com/"})
		if err != nil {
			t.Fatal(err)
		}
		others = row.others
		changed, err := m.RotateSecret(t.Context(), "o", e.ID)
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("beside %d others: %v, want %v", row.others, err, row.want)
		}
		stored, _ := b.store.Endpoints().Get(t.Context(), "o", e.ID)
		if stored.Limits.Burst != row.others {
			t.Errorf("beside %d others: %d of them stored", row.others, stored.Limits.Burst)
		}
		if err == nil && (stored.Secret != changed.Secret || changed.Version != stored.Version || len(stored.OldSecrets) != 1) {
			t.Errorf("beside %d others: the secret that was shown is not the one stored", row.others)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// hidden is what may be shown beside Secret.
func hidden(e deliver.Endpoint) deliver.Endpoint {
	e = e.Clone()
	for i := range e.OldSecrets {
		e.OldSecrets[i].Secret = ""
	}
	for i := range e.Headers {
		e.Headers[i].Value = ""
	}
	return e
}

// sameEndpoint compares all fields; no list is an empty one.
func sameEndpoint(a, b deliver.Endpoint) bool {
	x, err := deliver.EncodeEndpoint(a)
	y, err2 := deliver.EncodeEndpoint(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// A network that is allowed can be registered, and no other.
func TestAllowNets(t *testing.T) {
	m, _ := newManager(t, func(c *endpoints.Config) { c.AllowNets = []netip.Prefix{netip.MustParsePrefix("127.77.0.0/16")} })
	for url, want := range map[string]bool{"https://127.77.0.5:8443/": true, "https://127.78.0.5:8443/": false, "http://127.77.0.5:8443/": false} {
		if err := m.Check(url, deliver.GenerateSecret()); (err == nil) != want {
			t.Errorf("Check(%s) = %v, want ok %v", url, err, want)
		}
	}
}
