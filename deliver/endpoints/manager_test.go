package endpoints_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

func newManager(t *testing.T, tune func(*endpoints.Config)) (*endpoints.Manager, *bench) {
	t.Helper()
	b := newBench(t, nil, func(c *dispatch.Config) { c.Senders["nats"] = deliver.Handlers{} })
	return b.manager(tune), b
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
		"in the future":   {endpoints.NewEndpoint{Source: src("a"), URL: good, From: time.Now().Add(time.Hour)}, "from"},
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
		if !errors.As(err, &fe) || fe.Wire != row.field || fe.Allowed == "" || strings.Contains(err.Error(), "tooshort") {
			t.Errorf("%s: error %v, want one about %s", name, err, row.field)
		}
	}
	private, _ := newManager(t, func(c *endpoints.Config) { c.AllowPrivate = true })
	if _, err := private.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "http://127.0.0.1:8080/x"}); err != nil {
		t.Errorf("with AllowPrivate: %v", err)
	}
	_, none := endpoints.New(endpoints.Config{Dispatcher: &dispatch.Dispatcher{}})
	if _, err := endpoints.New(endpoints.Config{Store: &endpoints.Store{}, Dispatcher: &dispatch.Dispatcher{}, MaxPerSource: -1}); err == nil || none == nil {
		t.Errorf("a manager without a store: %v; of -1 endpoints: %v", none, err)
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
			want, err := b.stored().Get(t.Context(), "o", created.ID)
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
			stored, err := b.stored().Get(t.Context(), "o", created.ID)
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
	before, _ := b.stored().Get(t.Context(), "o", e.ID)
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
		if !errors.As(err, &fe) || fe.Wire != field {
			t.Errorf("%s: error %v", field, err)
		}
		if after, _ := b.stored().Get(t.Context(), "o", e.ID); !sameEndpoint(after, before) {
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
		case row.field != "" && (!errors.As(err, &fe) || fe.Wire != row.field || fe.Allowed == ""):
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
		if _, err := m.Disable(t.Context(), "o", e.ID, reason); !errors.As(err, &fe) || fe.Wire != "status_reason" {
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

// An endpoint is created with its monitor or rule, or not at all.
func TestManagerCreatesBesideItsSource(t *testing.T) {
	m, b := newManager(t, nil)
	b.source("thief", "theirs")
	rule := record.Record{Key: record.Key{Kind: record.Rule, ID: "r"}, Owner: "o"}
	if _, err := b.store.Ports().Records.Apply(t.Context(), record.Change{Put: []record.Record{rule}}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		source deliver.Source
		want   error
	}{
		{"a monitor", deliver.Source{Kind: deliver.SourceMonitor, ID: "a", Owner: "o"}, nil},
		{"a rule", deliver.Source{Kind: deliver.SourceRule, ID: "r", Owner: "o"}, nil},
		{"none", deliver.Source{Kind: deliver.SourceMonitor, ID: "none", Owner: "o"}, endpoints.ErrSourceNotFound},
		{"a rule that is a monitor", deliver.Source{Kind: deliver.SourceRule, ID: "b", Owner: "o"}, endpoints.ErrSourceNotFound},
		{"another owner's", deliver.Source{Kind: deliver.SourceMonitor, ID: "theirs", Owner: "o"}, endpoints.ErrSourceNotFound},
	} {
		e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: row.source, URL: "https://hooks.example.com/"})
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		list, err := m.List(t.Context(), "o", row.source.ID)
		if err != nil || (len(list) == 1) != (row.want == nil) || row.want == nil && (list[0].ID != e.ID || e.Version != 1 || list[0].Version != 1) {
			t.Errorf("%s: list %+v, %v", row.name, list, err)
		}
	}
}

// Of many creations at a time exactly as many succeed as a limit allows.
func TestManagerLimitsAreExact(t *testing.T) {
	errQuota := errors.New("quota")
	ofOwner := func(_ context.Context, owner string) ([]control.Limit, error) {
		return []control.Limit{{Limit: record.Limit{Owner: owner, Kinds: []record.Kind{record.Endpoint}, Max: 7},
			Exceeded: func(have int64) error { return fmt.Errorf("%w: %d", errQuota, have) }}}, nil
	}
	for _, row := range []struct {
		name    string
		tune    func(*endpoints.Config)
		sources int
		want    int
		refused func(error) bool
	}{
		{"100 of a source", func(*endpoints.Config) {}, 1, 100, isField("endpoints")},
		{"MaxPerSource", func(c *endpoints.Config) { c.MaxPerSource = 5 }, 2, 10, isField("endpoints")},
		{"Limits", func(c *endpoints.Config) { c.Limits = ofOwner }, 2, 7, func(err error) bool { return errors.Is(err, errQuota) && err.Error() == "quota: 8" }},
		{"the first that is exceeded", func(c *endpoints.Config) { c.MaxPerSource, c.Limits = 7, ofOwner }, 1, 7, func(err error) bool { return errors.Is(err, errQuota) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, b := newManager(t, row.tune)
			const callers, each = 32, 4
			var wg sync.WaitGroup
			var made atomic.Int64
			for i := range callers {
				wg.Go(func() {
					for n := range each {
						source := src(string(rune('a' + n%row.sources)))
						_, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: source, URL: fmt.Sprintf("https://h.example.com/%d/%d", i, n)})
						if err == nil {
							made.Add(1)
						} else if !row.refused(err) {
							t.Errorf("refused by %v", err)
						}
					}
				})
			}
			wg.Wait()
			list, err := b.stored().List(t.Context(), "o", "")
			if err != nil || len(list) != row.want || made.Load() != int64(row.want) {
				t.Errorf("%d stored, %d made, %v; want %d", len(list), made.Load(), err, row.want)
			}
		})
	}
}

func isField(name string) func(error) bool {
	return func(err error) bool {
		var fe *deliver.FieldError
		return errors.As(err, &fe) && fe.Wire == name
	}
}

// An error of Limits refuses every change. Its limits are of creations alone.
func TestManagerAsksForLimits(t *testing.T) {
	errEnds := errors.New("shutting down")
	none := []control.Limit{{Limit: record.Limit{Owner: "o", Kinds: []record.Kind{record.Endpoint}}, Exceeded: func(int64) error { return errEnds }}}
	for _, refuses := range []error{errEnds, nil} {
		for name, call := range map[string]func(ctx context.Context, m *endpoints.Manager) error{
			"Create": func(ctx context.Context, m *endpoints.Manager) error {
				return second(m.Create(ctx, endpoints.NewEndpoint{Source: src("a"), URL: "https://b.example.com/"}))
			},
			"Update": func(ctx context.Context, m *endpoints.Manager) error {
				return second(m.Update(ctx, "o", "a", endpoints.Update{}))
			},
			"Disable": func(ctx context.Context, m *endpoints.Manager) error { return second(m.Disable(ctx, "o", "a", "x")) },
			"Enable":  func(ctx context.Context, m *endpoints.Manager) error { return second(m.Enable(ctx, "o", "a")) },
			"Delete":  func(ctx context.Context, m *endpoints.Manager) error { return m.Delete(ctx, "o", "a") },
		} {
			m, b := newManager(t, func(c *endpoints.Config) {
				c.Limits = func(context.Context, string) ([]control.Limit, error) { return none, refuses }
			})
			b.endpoint("a")
			_, before, err := b.store.Ports().Records.Since(t.Context(), 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			want := refuses
			if name == "Create" {
				want = errEnds
			}
			if err := call(t.Context(), m); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
			if _, after, err := b.store.Ports().Records.Since(t.Context(), 0, 1); err != nil || (after > before) != (want == nil) {
				t.Errorf("%s that ends with %v: entries %d to %d of the feed, %v", name, want, before, after, err)
			}
		}
	}
}

// meddled is a store of records in which others make a change after each read.
type meddled struct {
	record.Store
	change func(ctx context.Context) error
}

func (m meddled) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	r, err := m.Store.Get(ctx, owner, k)
	if err == nil {
		err = m.change(ctx)
	}
	return r, err
}

func (m meddled) List(ctx context.Context, q record.Query) ([]record.Record, int, error) {
	list, n, err := m.Store.List(ctx, q)
	if err == nil {
		err = m.change(ctx)
	}
	return list, n, err
}

// beside returns a manager of endpoint a, and others that change it in the middle of the next n
// calls of the manager. A call makes one try for each change.
func beside(t *testing.T, n int, tune func(*endpoints.Config)) (*endpoints.Manager, *bench) {
	t.Helper()
	b := newBench(t, nil, nil)
	b.endpoint("a")
	return b.manager(func(c *endpoints.Config) {
		if tune != nil {
			tune(c)
		}
		c.Store = endpoints.NewStore(meddled{b.store.Ports().Records, func(ctx context.Context) error {
			if n == 0 {
				return nil
			}
			n--
			e, err := b.stored().Get(ctx, "o", "a")
			e.Limits.Burst++
			if err == nil {
				err = b.stored().Update(ctx, e)
			}
			return err
		}}, nil)
	}), b
}

// A change that meets others begins again, so that none is lost; it is given up after 20 tries. The
// secret that is shown is the one that is stored.
func TestManagerChangesThatMeet(t *testing.T) {
	for _, row := range []struct {
		others int
		want   error
	}{{0, nil}, {1, nil}, {19, nil}, {20, deliver.ErrEndpointConflict}} {
		m, b := beside(t, row.others, nil)
		changed, err := m.RotateSecret(t.Context(), "o", "a")
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("rotation beside %d others: %v, want %v", row.others, err, row.want)
		}
		stored := b.get("a")
		if stored.Limits.Burst != row.others {
			t.Errorf("rotation beside %d others: %d of them stored", row.others, stored.Limits.Burst)
		}
		if err == nil && (stored.Secret != changed.Secret || changed.Version != stored.Version || len(stored.OldSecrets) != 1) {
			t.Errorf("rotation beside %d others: the secret that was shown is not the one stored", row.others)
		}
		m, _ = beside(t, row.others, nil)
		if err := m.Delete(t.Context(), "o", "a"); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("deletion beside %d others: %v, want %v", row.others, err, row.want)
		}
	}
}

// A call with a Version changes this version alone, also if another change comes in the middle.
func TestManagerVersions(t *testing.T) {
	calls := map[string]func(ctx context.Context, m *endpoints.Manager, version int64) error{
		"Update": func(ctx context.Context, m *endpoints.Manager, version int64) error {
			return second(m.Update(ctx, "o", "a", endpoints.Update{Paused: ptr(true), Version: version}))
		},
		"DeleteVersion": func(ctx context.Context, m *endpoints.Manager, version int64) error {
			return m.DeleteVersion(ctx, "o", "a", version)
		},
	}
	for name, call := range calls {
		for _, row := range []struct {
			version int64 // the endpoint has 1
			others  int
			want    error
		}{
			{0, 0, nil}, {0, 1, nil}, {1, 0, nil},
			{1, 1, deliver.ErrEndpointConflict}, {2, 0, deliver.ErrEndpointConflict}, {2, 1, deliver.ErrEndpointConflict},
		} {
			m, b := beside(t, row.others, nil)
			err := call(t.Context(), m, row.version)
			if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Errorf("%s of version %d beside %d others: %v, want %v", name, row.version, row.others, err, row.want)
			}
			e, err := b.stored().Get(t.Context(), "o", "a")
			if changed := err != nil || !e.PausedSince.IsZero(); changed != (row.want == nil) {
				t.Errorf("%s of version %d beside %d others: changed %v, although it returned %v", name, row.version, row.others, changed, row.want)
			}
		}
	}
}

// FailingSince is about a receiver, until its owner says that it works: another URL and Enable end
// it, also if it is stored in the middle of the change. No other change does.
func TestManagerClearsFailingSince(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		name    string
		do      func(ctx context.Context, m *endpoints.Manager) error
		cleared bool
	}{
		{"another URL", update(endpoints.Update{URL: ptr("https://b.example.com/")}), true},
		{"enabled", func(ctx context.Context, m *endpoints.Manager) error { return second(m.Enable(ctx, "o", "a")) }, true},
		{"the same URL", update(endpoints.Update{URL: ptr("https://a.example.com/")}), false},
		{"another secret", update(endpoints.Update{Secret: new(deliver.Secret)}), false},
		{"disabled", func(ctx context.Context, m *endpoints.Manager) error { return second(m.Disable(ctx, "o", "a", "x")) }, false},
	} {
		for _, when := range []string{"before", "between"} {
			b := newBench(t, nil, nil)
			b.endpoint("a")
			store := endpoints.NewStore(b.store.Ports().Records, nil)
			fail := func(ctx context.Context) error {
				e, err := store.Get(ctx, "o", "a")
				if e.FailingSince = since; err == nil && e.Version == 1 {
					err = store.SetFailing(ctx, e)
				}
				return err
			}
			m := b.manager(func(c *endpoints.Config) {
				if when == "between" {
					c.Store = endpoints.NewStore(meddled{b.store.Ports().Records, fail}, nil)
				} else if err := fail(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if err := row.do(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if e := b.get("a"); e.FailingSince.IsZero() != row.cleared || e.Version != 2 {
				t.Errorf("%s, failing %s: since %s in version %d, want cleared %v in version 2", row.name, when, e.FailingSince, e.Version, row.cleared)
			}
		}
	}
}

func update(u endpoints.Update) func(ctx context.Context, m *endpoints.Manager) error {
	return func(ctx context.Context, m *endpoints.Manager) error { return second(m.Update(ctx, "o", "a", u)) }
}

// A call whose answer the store loses has its result, the secret above all: nobody could ask for
// that again.
func TestManagerFindsOutWhatWasStored(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(ctx context.Context, m *endpoints.Manager) (deliver.Endpoint, error)
		made func(got, stored deliver.Endpoint) bool
	}{
		{"Create", func(ctx context.Context, m *endpoints.Manager) (deliver.Endpoint, error) {
			return m.Create(ctx, endpoints.NewEndpoint{Source: src("b"), URL: "https://b.example.com/"})
		}, func(got, stored deliver.Endpoint) bool { return got.Secret == stored.Secret && got.Version == 1 }},
		{"RotateSecret", func(ctx context.Context, m *endpoints.Manager) (deliver.Endpoint, error) {
			return m.RotateSecret(ctx, "o", "a")
		},
			func(got, stored deliver.Endpoint) bool { return got.Secret == stored.Secret && got.Version == 2 }},
		{"Disable", func(ctx context.Context, m *endpoints.Manager) (deliver.Endpoint, error) {
			return m.Disable(ctx, "o", "a", "x")
		},
			func(got, stored deliver.Endpoint) bool {
				return stored.Status == deliver.EndpointDisabled && got.Version == 2
			}},
		{"Delete", func(ctx context.Context, m *endpoints.Manager) (deliver.Endpoint, error) {
			return deliver.Endpoint{ID: "a"}, m.Delete(ctx, "o", "a")
		}, func(_, stored deliver.Endpoint) bool { return stored.ID == "" }},
	} {
		b := newBench(t, nil, nil)
		b.endpoint("a")
		m := b.manager(func(c *endpoints.Config) {
			faulty := storetest.FaultyStore(b.store, storetest.FaultPlan{Method: "Records.Apply", Call: 1, Do: storetest.FailAfter})
			c.Store = endpoints.NewStore(faulty.Ports().Records, nil)
		})
		got, err := row.do(t.Context(), m)
		stored, gone := b.stored().Get(t.Context(), "o", got.ID)
		if err != nil || !row.made(got, stored) || gone != nil && row.name != "Delete" {
			t.Errorf("%s: version %d, %v; stored %+v, %v", row.name, got.Version, err, stored, gone)
		}
	}
}

// A fault of the store reaches the caller, whichever of the call's reads and writes has it.
func TestManagerTellsFaults(t *testing.T) {
	for name, do := range map[string]func(m *endpoints.Manager, failed string) error{
		"Create": func(m *endpoints.Manager, _ string) error {
			return second(m.Create(t.Context(), endpoints.NewEndpoint{Source: src("b"), URL: "https://b.example.com/", From: time.Unix(1, 0)}))
		},
		"Get":       func(m *endpoints.Manager, _ string) error { return second(m.Get(t.Context(), "o", "a")) },
		"List":      func(m *endpoints.Manager, _ string) error { return second(m.List(t.Context(), "o", "a")) },
		"Sealed":    func(m *endpoints.Manager, _ string) error { return second(m.Sealed(t.Context())) },
		"Enable":    func(m *endpoints.Manager, _ string) error { return second(m.Enable(t.Context(), "o", "a")) },
		"Delete":    func(m *endpoints.Manager, _ string) error { return m.Delete(t.Context(), "o", "a") },
		"Test":      func(m *endpoints.Manager, _ string) error { return second(m.Test(t.Context(), "o", "a")) },
		"Redeliver": func(m *endpoints.Manager, id string) error { return second(m.Redeliver(t.Context(), "o", id)) },
		"Recover": func(m *endpoints.Manager, _ string) error {
			return second(m.Recover(t.Context(), "o", "a", time.Time{}))
		},
		"Replay": func(m *endpoints.Manager, _ string) error {
			return second(m.Replay(t.Context(), "o", "a", time.Unix(1, 0), time.Time{}))
		},
		"Replaying": func(m *endpoints.Manager, _ string) error {
			return cmp.Or(second(m.Replay(t.Context(), "o", "a", time.Unix(1, 0), time.Time{})), second(m.Replaying(t.Context(), "o", "a")))
		},
	} {
		for call, told := 1, true; told; call++ {
			b := newBench(t, nil, nil)
			b.endpoint("a")
			b.commit("a", "p", 1, false)
			failed := b.log()[0].ID
			if err := b.store.Ports().Outbox.Settle(t.Context(), deliver.Settlement{DeliveryID: failed, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateFailed}); err != nil {
				t.Fatal(err)
			}
			faulty := storetest.FaultyStore(b.store, storetest.FaultPlan{Call: call}).Ports()
			records := endpoints.NewStore(faulty.Records, nil)
			d, err := dispatch.New(dispatch.Config{Outbox: faulty.Outbox, Endpoints: records, Replays: faulty.Replays, Senders: map[string]deliver.Sender{"https": b}})
			if err != nil {
				t.Fatal(err)
			}
			m := b.manager(func(c *endpoints.Config) { c.Store, c.Dispatcher, c.Log = records, d, faulty.Log })
			err = do(m, failed)
			if told = errors.Is(err, storetest.ErrStoreFault); !told && (err != nil || !errors.Is(second(faulty.Records.Get(t.Context(), "", record.Key{})), storetest.ErrStoreFault)) {
				t.Errorf("%s: fault of call %d: %v", name, call, err)
			}
		}
	}
}

// forestalled is a store of records that makes another change in place of the first one, and fails it.
type forestalled struct {
	record.Store
	other func(ctx context.Context) error
}

func (f *forestalled) Apply(ctx context.Context, c record.Change) (uint64, error) {
	if f.other == nil {
		return f.Store.Apply(ctx, c)
	}
	err := f.other(ctx)
	f.other = nil
	return 0, errors.Join(storetest.ErrStoreFault, err)
}

// Another's change to the same version is not taken for the one that failed.
func TestManagerDoesNotClaimAnothersChange(t *testing.T) {
	for name, u := range map[string]endpoints.Update{
		"the URL": {URL: ptr("https://theirs.example.com/")}, "the limits": {Limits: &deliver.Limits{InFlight: 3}},
	} {
		b := newBench(t, nil, nil)
		b.endpoint("a")
		m := b.manager(func(c *endpoints.Config) {
			c.Store = endpoints.NewStore(&forestalled{b.store.Ports().Records, func(ctx context.Context) error { return update(u)(ctx, b.manager(nil)) }}, nil)
		})
		if err := update(endpoints.Update{URL: ptr("https://ours.example.com/")})(t.Context(), m); !errors.Is(err, storetest.ErrStoreFault) {
			t.Errorf("%s changed meanwhile: %v, want %v", name, err, storetest.ErrStoreFault)
		}
	}
}

// A change that is stored and does not take effect is told with its result.
func TestManagerWaitsForTheEffect(t *testing.T) {
	errBusy := errors.New("busy")
	for name, want := range map[string]error{"in effect": nil, "not yet": errBusy} {
		var told []record.Key
		b := newBench(t, nil, nil)
		b.endpoint("a")
		m := b.manager(func(c *endpoints.Config) {
			c.Applied = func(_ context.Context, owner string, k record.Key) error {
				told = append(told, k)
				return want
			}
		})
		e, err := m.RotateSecret(t.Context(), "o", "a")
		if !errors.Is(err, want) || (err == nil) != (want == nil) || e.Secret == "" || e.Secret != b.get("a").Secret {
			t.Errorf("%s: RotateSecret %v", name, err)
		}
		if err := m.Delete(t.Context(), "o", "a"); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: Delete %v", name, err)
		}
		if k := (record.Key{Kind: record.Endpoint, ID: "a"}); !slices.Equal(told, []record.Key{k, k}) {
			t.Errorf("%s: waited for %v", name, told)
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
	x, err := a.Record()
	y, err2 := b.Record()
	return err == nil && err2 == nil && reflect.DeepEqual(x, y) && a.FailingSince.Equal(b.FailingSince)
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
