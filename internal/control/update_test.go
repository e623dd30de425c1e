package control_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// unchanged is an Update that changes no field of the kind.
func unchanged(*item, time.Time) error { return nil }

func TestUpdate(t *testing.T) {
	errKind, errLimits := errors.New("no such word"), errors.New("not now")
	for _, tt := range []struct {
		name   string
		owner  string
		q      control.Request
		change func(*item, time.Time) error
		limits error
		store  error
		want   error
		field  string
	}{
		{name: "a field", change: func(it *item, _ time.Time) error { it.Words = "@jaxa"; return nil }},
		{name: "the version", q: control.Request{Version: 1}, change: func(it *item, _ time.Time) error { it.Name = "b"; return nil }},
		{name: "another version", q: control.Request{Version: 2}, want: errConflict},
		{name: "of another owner", owner: "thief", want: errNotFound},
		{name: "refused by the kind", change: func(*item, time.Time) error { return errKind }, want: errKind},
		{name: "a field refused", change: func(it *item, _ time.Time) error { it.Name = ""; return nil }, field: "name"},
		{name: "a name that is taken", change: func(it *item, _ time.Time) error { it.Name = "taken"; return nil }, want: errDuplicate},
		{name: "a status", q: control.Request{Status: ptr(control.Status("stopped"))}, field: "status"},
		{name: "a URL", q: control.Request{WebhookURL: ptr("ftp://h")}, field: "webhook_url"},
		{name: "a secret", q: control.Request{WebhookSecret: ptr(secret.Value("short"))}, field: "webhook_secret"},
		{name: "an empty secret", q: control.Request{WebhookSecret: ptr(secret.Value(""))}, field: "webhook_secret"},
		{name: "a secret for no URL", q: control.Request{WebhookURL: ptr(""), WebhookSecret: ptr(secret.Value("given"))}, field: "webhook_secret"},
		{name: "not allowed", limits: errLimits, want: errLimits},
		{name: "the store is down", store: errDown, want: errDown},
		// What the endpoint gets is in the same change: nothing of it stays.
		{name: "a name that is taken, and another secret", q: control.Request{WebhookSecret: ptr(secret.Value("given"))},
			change: func(it *item, _ time.Time) error { it.Name = "taken"; return nil }, want: errDuplicate},
		{name: "a name that is taken, and no webhook", q: control.Request{WebhookURL: ptr("")},
			change: func(it *item, _ time.Time) error { it.Name = "taken"; return nil }, want: errDuplicate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked string
				var refuse error
				d := newDesk(t, func(_ *desk, c *control.Config[item, string]) {
					c.Limits = func(_ context.Context, was *item, is item, endpoint bool) ([]control.Limit, error) {
						if was != nil {
							asked = fmt.Sprint(was.Name, was.Words, " ", is.Name, is.Words, " ", endpoint)
						}
						return nil, refuse
					}
				})
				d.create(t, func(it *item) { it.Name = "taken" })
				old := d.create(t, nil)
				before := d.state(t)
				<-time.After(time.Hour)
				refuse, d.store.changes = tt.limits, nil
				d.store.before = func(*record.Change) error { return tt.store }
				if tt.owner == "" {
					tt.owner = "acme"
				}
				if tt.change == nil {
					tt.change = unchanged
				}
				it, _, err := d.Update(t.Context(), tt.owner, old.ID, tt.q, tt.change)
				if tt.want != nil || tt.field != "" {
					if !errors.Is(err, tt.want) && tt.want != nil || field(err) != tt.field {
						t.Errorf("error %v, want %v %s", err, tt.want, tt.field)
					}
					if got := d.state(t); got != before {
						t.Errorf("it is\n%s\nwant\n%s", got, before)
					}
					return
				}
				if err != nil || len(d.store.changes) != 1 || it.Version != 2 || !it.Updated.Equal(time.Now()) || it.Since != old.Since || it.Created != old.Created {
					t.Errorf("changed by %d changes to %+v, %v", len(d.store.changes), it, err)
				}
				if want := fmt.Sprint(old.Name, old.Words, " ", it.Name, it.Words, " false"); asked != want {
					t.Errorf("asked about %s, want %s", asked, want)
				}
				if got, err := d.Get(t.Context(), "acme", it.ID, 0); err != nil || !reflect.DeepEqual(got, it) || !reflect.DeepEqual(d.tracked[it.ID], it) {
					t.Errorf("changed %+v\nstored  %+v, %v\ntracked %+v", it, got, err, d.tracked[it.ID])
				}
				if r := d.stored(t, it.ID); r.Price != 7*int64(len(it.Name)) {
					t.Errorf("price %d of %q", r.Price, it.Name)
				}
			})
		})
	}
}

// A change that is stored and cannot be tracked yet comes back with the error.
func TestUpdateThatIsNotInEffect(t *testing.T) {
	d := newDesk(t, nil)
	it := d.create(t, nil)
	d.failing[it.ID] = errDown
	rename := func(it *item, _ time.Time) error { it.Name = "b"; return nil }
	got, _, err := d.Update(t.Context(), "acme", it.ID, control.Request{}, rename)
	if !errors.Is(err, errDown) || err.Error() != "monitor: the change is stored and not in effect yet: it is down" || got.Name != "b" || d.stored(t, it.ID).Name != "b" {
		t.Errorf("%+v, %v", got, err)
	}
	delete(d.failing, it.ID)
	if _, _, err := d.Update(t.Context(), "acme", it.ID, control.Request{}, rename); err != nil || d.tracked[it.ID].Name != "b" {
		t.Errorf("again: %v, tracked %+v", err, d.tracked[it.ID])
	}
}

// The endpoint of the webhook_url changes with the record.
func TestUpdateOfTheWebhook(t *testing.T) {
	const a, b = "https://a.example.com/", "https://b.example.com/"
	given := ptr(secret.Value("given"))
	for _, tt := range []struct {
		name, was string
		q         control.Request
		endpoints string // the record's own is ep_1, that of another record ep_2
		noted     bool   // the endpoint keeps its note
		generated secret.Value
		made      bool
	}{
		{"set", "", control.Request{WebhookURL: ptr(a)}, "ep_2 " + a + " generated", false, "generated", true},
		{"set with a secret", "", control.Request{WebhookURL: ptr(a), WebhookSecret: given}, "ep_2 " + a + " given", false, "", true},
		{"moved", a, control.Request{WebhookURL: ptr(b)}, "ep_1 " + b + " generated", false, "", false},
		{"moved with a secret", a, control.Request{WebhookURL: ptr(b), WebhookSecret: given}, "ep_1 " + b + " given", false, "", false},
		{"kept", a, control.Request{WebhookURL: ptr(a)}, "ep_1 " + a + " generated", true, "", false},
		{"not named", a, control.Request{}, "ep_1 " + a + " generated", true, "", false},
		{"the secret alone", a, control.Request{WebhookSecret: given}, "ep_1 " + a + " given", true, "", false},
		{"removed", a, control.Request{WebhookURL: ptr("")}, "", false, "", false},
		{"none, and removed", "", control.Request{WebhookURL: ptr("")}, "", false, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made := false
			d := newDesk(t, func(_ *desk, c *control.Config[item, string]) {
				c.Limits = func(_ context.Context, _ *item, _ item, endpoint bool) ([]control.Limit, error) {
					made = endpoint
					return nil, nil
				}
			})
			old := d.create(t, func(it *item) { it.URL = tt.was })
			ep := record.Ref{Key: record.Key{Kind: record.Endpoint, ID: old.EndpointID}, Owner: "acme"}
			if tt.was == "" {
				d.made++ // so that all ids are as in the table
			}
			if _, err := d.store.Store.Apply(t.Context(), record.Change{Notes: []record.Note{{Ref: ep, Text: "failing"}}}); err != nil {
				t.Fatal(err)
			}
			d.store.changes = nil
			it, generated, err := d.Update(t.Context(), "acme", old.ID, tt.q, unchanged)
			if err != nil || generated != tt.generated || made != tt.made || len(d.store.changes) != 1 {
				t.Errorf("generated %q, made %t, by %d changes, %v", string(generated), made, len(d.store.changes), err)
			}
			if got := d.endpoints(t); got != tt.endpoints {
				t.Errorf("endpoints %q, want %q", got, tt.endpoints)
			}
			var id, url string
			fmt.Sscan(tt.endpoints, &id, &url)
			if it.EndpointID != id || it.URL != url || it.SecretSet != (url != "") {
				t.Errorf("the record has %q with the endpoint %q, secret %t", it.URL, it.EndpointID, it.SecretSet)
			}
			stored, err := d.store.Store.Get(t.Context(), "acme", ep.Key)
			if err == nil && (stored.Note != "") != tt.noted {
				t.Errorf("the endpoint's note is %q", stored.Note)
			}
		})
	}
}

// A second endpoint of a record has the URL.
func TestUpdateToAURLThatIsTaken(t *testing.T) {
	d := newDesk(t, nil)
	it := d.create(t, nil)
	other := record.Record{Key: record.Key{Kind: record.Endpoint, ID: "ep_other"}, Owner: "acme", Parent: monitorKey(it.ID), Name: "https://other.example.com/"}
	if _, err := d.store.Store.Apply(t.Context(), record.Change{Put: []record.Record{other}}); err != nil {
		t.Fatal(err)
	}
	before := d.state(t)
	_, _, err := d.Update(t.Context(), "acme", it.ID, control.Request{WebhookURL: &other.Name}, unchanged)
	if !errors.Is(err, record.ErrDuplicate) || errors.Is(err, errDuplicate) || err.Error()[:10] != "endpoint: " || d.state(t) != before {
		t.Errorf("error %v, and it is\n%s\nwant the error of Webhooks and\n%s", err, d.state(t), before)
	}
}

// A change that meets another is made again from what is then stored, five times in all.
func TestUpdateBesideOthers(t *testing.T) {
	const newURL = "https://new.example.com/"
	rename := func(d *desk, it item) error { // changes the record
		r, err := d.store.Store.Get(context.Background(), "acme", monitorKey(it.ID))
		if err == nil {
			r.Name += "x"
			_, err = d.store.Store.Apply(context.Background(), record.Change{Put: []record.Record{r}})
		}
		return err
	}
	touch := func(d *desk, it item) error { // changes the endpoint
		r, err := d.store.Store.Get(context.Background(), "acme", record.Key{Kind: record.Endpoint, ID: it.EndpointID})
		if err == nil {
			r.Status = "disabled"
			_, err = d.store.Store.Apply(context.Background(), record.Change{Put: []record.Record{r}})
		}
		return err
	}
	remove := func(d *desk, it item) error { // deletes the endpoint, as its manager does
		source, _, err := d.WebhookMoved(context.Background(), "acme", it.ID, it.EndpointID, "")
		if err == nil {
			_, err = d.store.Store.Apply(context.Background(), record.Change{Put: []record.Record{source},
				Delete: []record.Ref{{Key: record.Key{Kind: record.Endpoint, ID: it.EndpointID}, Owner: "acme"}}})
		}
		return err
	}
	for _, tt := range []struct {
		name  string
		other func(*desk, item) error // comes before each of the first changes
		times int
		q     control.Request
		tries int
		want  error
		name2 string // then
		url   string
	}{
		{"once", rename, 1, control.Request{}, 2, nil, "ax!", "https://h.example.com/"},
		{"four times", rename, 4, control.Request{}, 5, nil, "axxxx!", "https://h.example.com/"},
		{"five times", rename, 5, control.Request{}, 5, errConflict, "axxxxx", "https://h.example.com/"},
		{"of a given version", rename, 1, control.Request{Version: 1}, 1, errConflict, "ax", "https://h.example.com/"},
		{"the endpoint was changed", touch, 1, control.Request{WebhookURL: ptr(newURL)}, 2, nil, "a!", newURL},
		{"the endpoint of a given version was changed", touch, 1, control.Request{WebhookURL: ptr(newURL), Version: 1}, 2, nil, "a!", newURL},
		{"the endpoint was deleted", remove, 1, control.Request{WebhookURL: ptr(newURL)}, 2, nil, "a!", newURL},
		{"the endpoint was deleted, as asked", remove, 1, control.Request{WebhookURL: ptr("")}, 2, nil, "a!", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, nil)
			it := d.create(t, nil)
			d.store.changes = nil
			left := tt.times
			d.store.before = func(*record.Change) error {
				if left--; left < 0 {
					return nil
				}
				return tt.other(d, it)
			}
			_, _, err := d.Update(t.Context(), "acme", it.ID, tt.q, func(it *item, _ time.Time) error { it.Name += "!"; return nil })
			if !errors.Is(err, tt.want) || len(d.store.changes) != tt.tries {
				t.Errorf("error %v after %d changes, want %v after %d", err, len(d.store.changes), tt.want, tt.tries)
			}
			got, err := d.Get(t.Context(), "acme", it.ID, 0)
			if err != nil || got.Name != tt.name2 || got.URL != tt.url {
				t.Errorf("then %q with %q, want %q with %q (%v)", got.Name, got.URL, tt.name2, tt.url, err)
			}
			if eps := d.endpoints(t); (eps != "") != (tt.url != "") {
				t.Errorf("endpoints %q for %q", eps, tt.url)
			}
		})
	}
}

// An endpoint that is deleted after the record was read is made anew.
func TestUpdateOfAnEndpointThatIsGone(t *testing.T) {
	d := newDesk(t, nil)
	it := d.create(t, nil)
	gone := false
	d.store.get = func(k record.Key) error {
		if k.Kind != record.Endpoint || gone {
			return nil
		}
		gone = true
		source, _, err := d.WebhookMoved(t.Context(), "acme", it.ID, k.ID, "")
		if err == nil {
			_, err = d.store.Store.Apply(t.Context(), record.Change{Put: []record.Record{source}, Delete: []record.Ref{{Key: k, Owner: "acme"}}})
		}
		return err
	}
	got, generated, err := d.Update(t.Context(), "acme", it.ID, control.Request{WebhookURL: ptr("https://b.example.com/")}, unchanged)
	if err != nil || generated != "generated" || got.EndpointID != "ep_2" || d.endpoints(t) != "ep_2 https://b.example.com/ generated" {
		t.Errorf("%+v, generated %q, %v; endpoints %q", got, string(generated), err, d.endpoints(t))
	}
}

// Who resumes a record after its own pause gets what is published from then on. After a suspension
// for lack of credits it gets what was published meanwhile, too.
func TestStatus(t *testing.T) {
	type step = func(context.Context, *desk, string) (item, error)
	status := func(s control.Status) step {
		return func(ctx context.Context, d *desk, id string) (item, error) {
			it, _, err := d.Update(ctx, "acme", id, control.Request{Status: &s}, unchanged)
			return it, err
		}
	}
	suspendFor := func(reason string) step {
		return func(ctx context.Context, d *desk, id string) (item, error) { return d.Suspend(ctx, "acme", id, reason) }
	}
	restoreFrom := func(reason string) step {
		return func(ctx context.Context, d *desk, id string) (item, error) { return d.Restore(ctx, "acme", id, reason) }
	}
	pause, resume := status(control.Paused), status(control.Active)
	suspend, restore := suspendFor(control.ReasonCredits), restoreFrom(control.ReasonCredits)
	const read, h = time.Minute, time.Hour // polls have read the first minute
	for name, tt := range map[string]struct {
		steps          []step // one an hour
		reason         string // of a paused record; "active" for one that is active
		since, resumed time.Duration
		changes        int
	}{
		"paused":                                {[]step{pause}, control.ReasonUser, 0, 0, 1},
		"paused twice":                          {[]step{pause, pause}, control.ReasonUser, 0, 0, 2},
		"resumed":                               {[]step{pause, resume}, "active", 2 * h, 2 * h, 2},
		"resumed while active":                  {[]step{resume}, "active", 0, 0, 1},
		"suspended":                             {[]step{suspend}, control.ReasonCredits, read, 0, 1},
		"suspended twice":                       {[]step{suspend, suspendFor("other")}, control.ReasonCredits, read, 0, 1},
		"suspended while paused":                {[]step{pause, suspend}, control.ReasonUser, 0, 0, 1},
		"restored":                              {[]step{suspend, restore}, "active", read, 2 * h, 2},
		"restored from another reason":          {[]step{suspend, restoreFrom("other")}, control.ReasonCredits, read, 0, 1},
		"restored while active":                 {[]step{restore}, "active", 0, 0, 0},
		"restored while paused by its owner":    {[]step{pause, restoreFrom(control.ReasonUser)}, control.ReasonUser, 0, 0, 1},
		"resumed by its owner":                  {[]step{suspend, resume}, "active", read, 2 * h, 2},
		"suspended for another reason, resumed": {[]step{suspendFor("other"), resume}, "active", 2 * h, 2 * h, 2},
		"suspended, then paused, not restored":  {[]step{suspend, pause, restore}, control.ReasonUser, read, 0, 2},
		"suspended, then paused, resumed":       {[]step{suspend, pause, resume}, "active", 3 * h, 3 * h, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				old := d.create(t, nil)
				d.store.changes, d.readTo = nil, old.Since.Add(read)
				var it item
				for _, do := range tt.steps {
					<-time.After(h)
					var err error
					if it, err = do(t.Context(), d, old.ID); err != nil {
						t.Fatal(err)
					}
				}
				active := tt.reason == "active"
				if active {
					tt.reason = ""
				}
				var resumed time.Duration
				if !it.Resumed.IsZero() {
					resumed = it.Resumed.Sub(old.Since)
				}
				if (it.Status == control.Active) != active || it.Reason != tt.reason || it.Since.Sub(old.Since) != tt.since || resumed != tt.resumed {
					t.Errorf("%s %q since %s, resumed after %s; want %q, %s, %s", it.Status, it.Reason, it.Since.Sub(old.Since), resumed, tt.reason, tt.since, tt.resumed)
				}
				got, err := d.Get(t.Context(), "acme", it.ID, 0)
				if err != nil || !reflect.DeepEqual(got, it) || len(d.store.changes) != tt.changes || d.isTracked(it.ID) != active {
					t.Errorf("stored %+v by %d changes, tracked %t, %v\nwant   %+v by %d", got, len(d.store.changes), d.isTracked(it.ID), err, it, tt.changes)
				}
			})
		})
	}
}

func TestSuspendRefuses(t *testing.T) {
	d := newDesk(t, nil)
	it := d.create(t, nil)
	before := d.state(t)
	for _, reason := range []string{"", control.ReasonUser} {
		if _, err := d.Suspend(t.Context(), "acme", it.ID, reason); field(err) != "status_reason" {
			t.Errorf("reason %q: %v", reason, err)
		}
	}
	for what, do := range map[string]func(context.Context, string, string, string) (item, error){"suspend": d.Suspend, "restore": d.Restore} {
		if _, err := do(t.Context(), "thief", it.ID, control.ReasonCredits); !errors.Is(err, errNotFound) {
			t.Errorf("%s of another owner's: %v", what, err)
		}
	}
	d.readErr = errDown // without what was read, nothing may be suspended
	if _, err := d.Suspend(t.Context(), "acme", it.ID, control.ReasonCredits); !errors.Is(err, errDown) {
		t.Errorf("error %v, want %v", err, errDown)
	}
	if got := d.state(t); got != before {
		t.Errorf("it is\n%s\nwant\n%s", got, before)
	}
}

// Moved tells how a record follows a change of its endpoint.
func TestMoved(t *testing.T) {
	for _, tt := range []struct {
		name, owner, endpoint, url string
		ok                         bool
	}{
		{"another URL", "acme", "ep_1", "https://b.example.com/", true},
		{"deleted", "acme", "ep_1", "", true},
		{"another endpoint", "acme", "ep_2", "", false},
		{"no endpoint", "acme", "", "", false},
		{"another owner", "thief", "ep_1", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, nil)
			it := d.create(t, func(it *item) {
				if tt.endpoint == "" {
					it.URL = ""
				}
			})
			r, ok, err := d.WebhookMoved(t.Context(), tt.owner, it.ID, tt.endpoint, tt.url)
			if err != nil || ok != tt.ok {
				t.Fatalf("%t, %v; want %t", ok, err, tt.ok)
			}
			if !ok {
				return
			}
			it.URL, it.SecretSet = tt.url, tt.url != ""
			if tt.url == "" {
				it.EndpointID = ""
			}
			got, err := itemOf(r)
			it.Updated = got.Updated
			if err != nil || got != it || r.Price != 7 || got.Updated.IsZero() {
				t.Errorf("%+v at %d, %v; want %+v at 7", got, r.Price, err, it)
			}
		})
	}
	d := newDesk(t, nil)
	it := d.create(t, nil)
	d.store.get = func(record.Key) error { return errDown }
	if _, _, err := d.WebhookMoved(t.Context(), "acme", it.ID, "ep_1", ""); !errors.Is(err, errDown) {
		t.Errorf("error %v, want %v", err, errDown)
	}
}
