package rule_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a manager with its store, a tracker and webhooks.
type desk struct {
	*rule.Manager
	store   record.Store
	tracked map[string]rule.Rule
	read    time.Time // what ReadUntil returns
	readErr error
}

func (d *desk) Track(_ context.Context, r rule.Rule, p rule.Parsed, _ control.Start) error {
	if q, _, _ := d.Parse(r.Query); q.String() != p.Query.String() {
		return fmt.Errorf("query %q with the program of %q", r.Query, p.Query)
	}
	if (p.Schedule != nil) != (r.Schedule != "") {
		return fmt.Errorf("schedule %q parsed to %v", r.Schedule, p.Schedule)
	}
	d.tracked[r.ID] = r
	return nil
}

func (d *desk) Untrack(_ context.Context, id string) error {
	delete(d.tracked, id)
	return nil
}

func (d *desk) ReadUntil(context.Context, string) (time.Time, error) { return d.read, d.readErr }

// webhooks makes endpoints without secrets.
type webhooks struct{}

func (webhooks) Check(url string, _ secret.Value) error {
	if !strings.HasPrefix(url, "https://") {
		return &rule.FieldError{Wire: "webhook_url", Value: url, Allowed: "https"}
	}
	return nil
}

func (webhooks) New(_ context.Context, source record.Record, url string, w control.Webhook) (ep record.Record, generated secret.Value, err error) {
	if w.Secret == "" {
		generated = "whsec_generated"
	}
	return record.Record{Key: record.Key{Kind: record.Endpoint, ID: "ep_of_" + source.ID}, Owner: source.Owner, Parent: source.Key, Name: url}, generated, nil
}

func (webhooks) Change(_ context.Context, ep record.Record, url string, _ secret.Value) (record.Record, error) {
	ep.Name = url
	return ep, nil
}

func (webhooks) Has(context.Context, record.Record, secret.Value) (bool, error) { return true, nil }

func (webhooks) Error(err error) error { return fmt.Errorf("endpoint: %w", err) }

// newDesk returns a desk over an empty store. change may be nil.
func newDesk(t testing.TB, change func(*rule.Config)) *desk {
	t.Helper()
	return deskOver(t, memory.New(memory.Options{}).Ports().Records, change)
}

func deskOver(t testing.TB, store record.Store, change func(*rule.Config)) *desk {
	t.Helper()
	d := &desk{store: store, tracked: map[string]rule.Rule{}}
	cfg := rule.Config{Records: d.store, Tracker: d, Webhooks: webhooks{}, Platforms: []string{"x", "y"}, MinInterval: time.Second,
		Now: func() time.Time { return time.Now().Round(0) }}
	if change != nil {
		change(&cfg)
	}
	var err error
	if d.Manager, err = rule.NewManager(cfg); err != nil {
		t.Fatal(err)
	}
	return d
}

func valid() rule.CreateRequest {
	return rule.CreateRequest{Owner: "acme", Tag: "space", Query: "moon  lang:en", Interval: time.Minute, WebhookURL: "https://h.example.com/"}
}

func (d *desk) create(t *testing.T, change func(*rule.CreateRequest)) rule.Created {
	t.Helper()
	q := valid()
	if change != nil {
		change(&q)
	}
	c, err := d.Create(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// same checks that r is what is stored and tracked.
func (d *desk) same(t *testing.T, r rule.Rule) {
	t.Helper()
	if stored, err := d.Get(t.Context(), r.Owner, r.ID); err != nil || stored != r {
		t.Errorf("stored %+v, %v\nwant   %+v", stored, err, r)
	}
	tracked, ok := d.tracked[r.ID]
	if active := r.Status == rule.Active; ok != active || active && tracked != r {
		t.Errorf("tracked %+v, %t\nwant    %+v", tracked, ok, r)
	}
}

// stored returns the record of a rule of acme.
func (d *desk) stored(t *testing.T, id string) record.Record {
	t.Helper()
	r, err := d.store.Get(t.Context(), "acme", record.Key{Kind: record.Rule, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ptr[T any](v T) *T { return &v }
