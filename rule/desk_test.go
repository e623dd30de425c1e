package rule_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a manager, and its tracker and webhooks, which record the calls and fail
// on demand.
type desk struct {
	*rule.Manager
	store                *memory.Store
	tracked              map[string]rule.Rule
	webhooks             map[string]string // url by rule id
	trackErr, untrackErr error
	half                 bool      // Track fails with trackErr and has an effect all the same
	read                 time.Time // what ReadUntil returns
	readErr              error
}

func (d *desk) Track(_ context.Context, r rule.Rule, p rule.Parsed) error {
	if d.trackErr != nil && !d.half {
		return d.trackErr
	}
	if q, _, _ := d.Parse(r.Query); q.String() != p.Query.String() {
		return fmt.Errorf("query %q with the program of %q", r.Query, p.Query)
	}
	if (p.Schedule != nil) != (r.Schedule != "") {
		return fmt.Errorf("schedule %q parsed to %v", r.Schedule, p.Schedule)
	}
	d.tracked[r.ID] = r
	return d.trackErr
}

func (d *desk) Untrack(_ context.Context, id string) error {
	delete(d.tracked, id)
	return d.untrackErr
}

func (d *desk) ReadUntil(context.Context, string) (time.Time, error) { return d.read, d.readErr }

func (d *desk) Check(url string, key secret.Value) error {
	if !strings.HasPrefix(url, "https://") {
		return &rule.FieldError{Field: "webhook_url", Value: url, Allowed: "https"}
	}
	return nil
}

func (d *desk) Change(_ context.Context, r rule.Rule, from, to string, key secret.Value) (secret.Value, error) {
	switch {
	case d.webhooks[r.ID] != from:
		return "", fmt.Errorf("change from %q, but it is %q", from, d.webhooks[r.ID])
	case strings.HasSuffix(to, "/fail"):
		return "", errors.New("endpoint store is down")
	}
	if d.webhooks[r.ID] = to; to == "" {
		delete(d.webhooks, r.ID)
	}
	if from == "" && key == "" {
		return "whsec_generated", nil
	}
	return "", nil
}

func (d *desk) Unbind(_ context.Context, r rule.Rule) error {
	delete(d.webhooks, r.ID)
	return nil
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	d := &desk{store: memory.New(memory.Options{}), tracked: map[string]rule.Rule{}, webhooks: map[string]string{}}
	var err error
	d.Manager, err = rule.NewManager(rule.Config{Store: d.store.Rules(), Tracker: d, Webhooks: d, MinInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
