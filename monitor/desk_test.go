package monitor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a manager with a tracker and webhooks that note what they are told
// and fail when asked to.
type desk struct {
	*monitor.Manager
	store    *memory.Store
	tracked  map[string]monitor.Monitor
	webhooks map[string]string // url by monitor id
	trackErr error
	read     map[string]time.Time // by account
	readErr  error
}

func (d *desk) Track(_ context.Context, m monitor.Monitor) error {
	if d.trackErr != nil {
		return d.trackErr
	}
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

func (d *desk) Check(url string, key secret.Value) error {
	if !strings.HasPrefix(url, "https://") {
		return &monitor.FieldError{Field: "webhook_url", Value: url, Allowed: "https"}
	}
	return nil
}

func (d *desk) Change(_ context.Context, m monitor.Monitor, from, to string, key secret.Value) (secret.Value, error) {
	if d.webhooks[m.ID] != from {
		return "", fmt.Errorf("change from %q, but it is %q", from, d.webhooks[m.ID])
	}
	d.webhooks[m.ID] = to
	if to == "" {
		delete(d.webhooks, m.ID)
	}
	if from == "" && key == "" {
		return "whsec_generated", nil
	}
	return "", nil
}

func (d *desk) Unbind(_ context.Context, m monitor.Monitor) error {
	delete(d.webhooks, m.ID)
	return nil
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{store: memory.New(memory.Options{}), tracked: map[string]monitor.Monitor{}, webhooks: map[string]string{}}
	var err error
	d.Manager, err = monitor.NewManager(monitor.Config{Store: d.store.Monitors(), Tracker: d, Webhooks: d})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func valid() monitor.CreateRequest {
	return monitor.CreateRequest{Owner: "acme", Name: "space", Usernames: []string{"@NASA", "esa", "nasa"}, WebhookURL: "https://h.example.com/"}
}
