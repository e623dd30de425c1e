package control_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// A record is stored with its endpoint by one change, and tracked before Create returns.
func TestCreate(t *testing.T) {
	for _, tt := range []struct {
		name, url string
		key       secret.Value
		generated secret.Value
		endpoints string
		limits    deliver.Limits
	}{
		{name: "no webhook"},
		{"a webhook", "https://h.example.com/", "", "generated", "ep_1 https://h.example.com/ generated", deliver.Limits{}},
		{"a webhook with a secret", "https://h.example.com/", "given", "", "ep_1 https://h.example.com/ given", deliver.Limits{}},
		{"a webhook with limits", "https://h.example.com/", "", "generated", "ep_1 https://h.example.com/ generated", deliver.Limits{Rate: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, nil)
			it, generated, err := d.Create(t.Context(), item{Owner: "acme", Name: "moon", Words: "@nasa", URL: tt.url, Status: control.Paused, Version: 9}, control.Webhook{Secret: tt.key, Limits: tt.limits})
			if err != nil || generated != tt.generated || d.limits != tt.limits {
				t.Fatalf("generated %q, %v; want %q", string(generated), err, string(tt.generated))
			}
			if got := d.endpoints(t); got != tt.endpoints || len(d.store.changes) != 1 {
				t.Errorf("endpoints %q by %d changes, want %q by one", got, len(d.store.changes), tt.endpoints)
			}
			if !strings.HasPrefix(it.ID, "it_") || it.Status != control.Active || it.Version != 1 || it.Since.IsZero() ||
				it.Created != it.Since || it.Updated != it.Since || it.SecretSet != (tt.url != "") || (it.EndpointID != "") != (tt.url != "") {
				t.Errorf("created %+v", it)
			}
			if got, err := d.Get(t.Context(), "acme", it.ID, 1); err != nil || !reflect.DeepEqual(got, it) || !reflect.DeepEqual(d.tracked[it.ID], it) {
				t.Errorf("created %+v\nstored  %+v, %v\ntracked %+v", it, got, err, d.tracked[it.ID])
			}
			if r := d.stored(t, it.ID); r.Price != 7*4 || r.Size != 1 {
				t.Errorf("price %d and size %d, want 28 and 1", r.Price, r.Size)
			}
		})
	}
}

// What is refused leaves neither a record nor an endpoint.
func TestCreateRefuses(t *testing.T) {
	errLimits, errOver := errors.New("not now"), errors.New("over")
	limit := func(kind record.Kind, of record.Measure, max int64) control.Limit {
		return control.Limit{Limit: record.Limit{Owner: "acme", Kinds: []record.Kind{kind}, Of: of, Max: max},
			Exceeded: func(have int64) error { return fmt.Errorf("%w: %d %s by %d", errOver, have, kind, of) }}
	}
	active := limit(record.Monitor, record.Count, 1)
	active.Status, active.Exceeded = "active", func(have int64) error { return fmt.Errorf("%w: %d are active", errOver, have) }
	for _, tt := range []struct {
		name   string
		change func(*item)
		key    secret.Value
		rate   deliver.Limits // of the endpoint
		limits []control.Limit
		refuse error // of Limits
		store  error
		field  string // of a *FieldError
		want   error
		text   string
	}{
		{name: "an owner too long", change: func(it *item) { it.Owner = strings.Repeat("o", 129) }, field: "owner"},
		{name: "an owner with a line break", change: func(it *item) { it.Owner = "a\nb" }, field: "owner"},
		{name: "a field of the kind", change: func(it *item) { it.Name = "" }, field: "name"},
		{name: "a URL", change: func(it *item) { it.URL = "ftp://h.example.com" }, field: "webhook_url"},
		{name: "a secret", key: "short", field: "webhook_secret"},
		{name: "a secret without a URL", change: func(it *item) { it.URL = "" }, key: "given", field: "webhook_secret"},
		{name: "limits without a URL", change: func(it *item) { it.URL = "" }, rate: deliver.Limits{Rate: 1}, field: "webhook_limits"},
		{name: "a name that is taken", change: func(it *item) { it.Name = "a" }, want: errDuplicate},
		{name: "an owner who was erased", change: func(it *item) { it.Owner = "gone" }, want: record.ErrGone},
		{name: "not allowed", refuse: errLimits, want: errLimits},
		{name: "a record too many", limits: []control.Limit{limit(record.Endpoint, record.Count, 2), limit(record.Monitor, record.Count, 1)}, want: errOver, text: "over: 2 monitor by 0"},
		{name: "an endpoint too many", limits: []control.Limit{limit(record.Monitor, record.Count, 2), limit(record.Endpoint, record.Count, 1)}, want: errOver, text: "over: 2 endpoint by 0"},
		{name: "an active record too many", limits: []control.Limit{limit(record.Monitor, record.Count, 2), active}, want: errOver, text: "over: 2 are active"},
		{name: "too large together", limits: []control.Limit{limit(record.Monitor, record.Count, 2), limit(record.Monitor, record.Size, 3)}, want: errOver, text: "over: 4 monitor by 1"},
		{name: "too expensive together", limits: []control.Limit{limit(record.Monitor, record.Price, 20)}, want: errOver, text: "over: 21 monitor by 2"},
		{name: "the store is down", store: errDown, want: errDown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := true
			d := newDesk(t, func(_ *desk, c *control.Config[item, string]) {
				c.Limits = func(_ context.Context, was *item, is item, endpoint bool) ([]control.Limit, error) {
					if was != nil || endpoint != (is.URL != "") {
						t.Errorf("asked about %+v before, endpoint %t", was, endpoint)
					}
					if first {
						return nil, nil
					}
					return tt.limits, tt.refuse
				}
			})
			d.create(t, nil)
			if _, err := d.store.Store.Apply(t.Context(), record.Change{Gone: &record.Gone{Owner: "gone", Until: time.Now().Add(time.Hour)}}); err != nil {
				t.Fatal(err)
			}
			before := d.state(t)
			first, d.store.before = false, func(*record.Change) error { return tt.store }
			it := item{Owner: "acme", Name: "bb", Words: "@nasa @esa", URL: "https://h.example.com/"}
			if tt.change != nil {
				tt.change(&it)
			}
			_, _, err := d.Create(t.Context(), it, control.Webhook{Secret: tt.key, Limits: tt.rate})
			if field(err) != tt.field || tt.want != nil && !errors.Is(err, tt.want) || tt.text != "" && err.Error() != tt.text {
				t.Errorf("error %v, want %v %s %s", err, tt.want, tt.field, tt.text)
			}
			if got := d.state(t); got != before {
				t.Errorf("it left\n%s\nwant\n%s", got, before)
			}
		})
	}
}

// A record that cannot be tracked yet exists: the follower tries again.
func TestCreateThatIsNotInEffect(t *testing.T) {
	d := newDesk(t, func(d *desk, c *control.Config[item, string]) {
		c.Applied = func(context.Context, string, record.Key) error { return errDown }
	})
	it := d.create(t, nil)
	if got := d.stored(t, it.ID); got.Version != 1 || d.endpoints(t) == "" {
		t.Errorf("stored %+v with endpoints %q", got, d.endpoints(t))
	}
	d.log.Wait(t, `msg="cannot start a new record: trying again".*`+it.ID+`.*error=".*not in effect yet: it is down"`)
}

func TestDelete(t *testing.T) {
	for _, tt := range []struct {
		name, owner string
		version     int64
		limits      error
		want        error
	}{
		{name: "any version", owner: "acme"},
		{name: "the version", owner: "acme", version: 1},
		{"another version", "acme", 2, nil, errConflict},
		{"of another owner", "thief", 0, nil, errNotFound},
		{"not allowed", "acme", 0, errDown, errDown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var refuse error
			d := newDesk(t, func(_ *desk, c *control.Config[item, string]) {
				c.Limits = func(context.Context, *item, item, bool) ([]control.Limit, error) { return nil, refuse }
			})
			it := d.create(t, nil)
			before := d.state(t)
			refuse = tt.limits
			err := d.Delete(t.Context(), tt.owner, it.ID, tt.version)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			want := "[]"
			if tt.want != nil {
				want = before
			}
			if got := d.state(t); got != want {
				t.Errorf("it left\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFieldErrorsNameTheKind(t *testing.T) {
	d := newDesk(t, nil)
	_, _, err := d.Create(t.Context(), item{Owner: "a\nb", Name: "a"}, control.Webhook{})
	var fe *invalid.FieldError
	if !errors.As(err, &fe) || fe.Package != "monitor" || fe.Allowed == "" {
		t.Errorf("error %v, want one of package monitor that says what is allowed", err)
	}
}
