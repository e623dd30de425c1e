package monitor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a manager with its store, a tracker and webhooks.
type desk struct {
	*monitor.Manager
	store   record.Store
	tracked map[string]monitor.Monitor
	read    map[string]time.Time // by account
	readErr error
}

func (d *desk) Track(_ context.Context, m monitor.Monitor, _ control.Start) error {
	d.tracked[m.ID] = m
	return nil
}

func (d *desk) Untrack(_ context.Context, id string) error {
	delete(d.tracked, id)
	return nil
}

func (d *desk) ReadUntil(context.Context, monitor.Monitor) (map[string]time.Time, error) {
	return d.read, d.readErr
}

// webhooks makes endpoints without secrets.
type webhooks struct{}

func (webhooks) Check(url string, _ secret.Value) error {
	if !strings.HasPrefix(url, "https://") {
		return &monitor.FieldError{Wire: "webhook_url", Value: url, Allowed: "https"}
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
func newDesk(t *testing.T, change func(*monitor.Config)) *desk {
	t.Helper()
	return deskOver(t, memory.New(memory.Options{}).Ports().Records, change)
}

func deskOver(t *testing.T, store record.Store, change func(*monitor.Config)) *desk {
	t.Helper()
	d := &desk{store: store, tracked: map[string]monitor.Monitor{}}
	cfg := monitor.Config{Records: d.store, Tracker: d, Webhooks: webhooks{}, Now: func() time.Time { return time.Now().Round(0) }}
	if change != nil {
		change(&cfg)
	}
	var err error
	if d.Manager, err = monitor.NewManager(cfg); err != nil {
		t.Fatal(err)
	}
	return d
}

func valid() monitor.CreateRequest {
	return monitor.CreateRequest{Owner: "acme", Name: "space", Usernames: []string{"@NASA", "esa", "nasa"}, WebhookURL: "https://h.example.com/"}
}

func (d *desk) create(t *testing.T, change func(*monitor.CreateRequest)) monitor.Created {
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

// stored returns the record of a monitor of acme.
func (d *desk) stored(t *testing.T, id string) record.Record {
	t.Helper()
	r, err := d.store.Get(t.Context(), "acme", record.Key{Kind: record.Monitor, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ptr[T any](v T) *T { return &v }
