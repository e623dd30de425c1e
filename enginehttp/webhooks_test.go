package enginehttp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginehttp"
)

// The old secret stays valid for grace_seconds: by default a day, with 0 not at all.
func TestRotationGrace(t *testing.T) {
	for _, row := range []struct {
		body  string
		grace time.Duration
	}{
		{"", 24 * time.Hour},
		{`{}`, 24 * time.Hour},
		{`{"grace_seconds":90}`, 90 * time.Second},
		{`{"grace_seconds":604800}`, 7 * 24 * time.Hour},
		{`{"grace_seconds":0}`, 0},
	} {
		w := newWorld(t)
		asked := time.Now()
		a := w.do(mine, "POST", webhooks+"/{webhook}/rotate", row.body)
		answered := time.Now()
		if a.status != 200 {
			t.Fatalf("%s: %d %s", row.body, a.status, a.body)
		}
		old, has := a.decode(t)["old_secret_until"].(string)
		if has != (row.grace > 0) {
			t.Errorf("%s: old_secret_until %q", row.body, old)
		}
		until, err := time.Parse(time.RFC3339, old)
		if has && (err != nil || until.Before(asked.Add(row.grace).Truncate(time.Millisecond)) || until.After(answered.Add(row.grace))) {
			t.Errorf("%s: valid until %s, want %s after %s", row.body, old, row.grace, asked)
		}
	}
}

// health says that a webhook fails or is disabled. A disabled one cannot be paused; an
// active one can be paused and resumed.
func TestWebhookHealth(t *testing.T) {
	w := newWorld(t)
	id := w.ids[mine].Replace("{webhook}")
	if _, err := w.engine.Endpoints().Disable(context.Background(), mine, id, "answered 410"); err != nil {
		t.Fatal(err)
	}
	a := w.do(mine, "GET", webhooks, "")
	if !strings.Contains(a.body, `"health":{"state":"disabled","failing_since":null,"disabled_reason":"answered 410"}`) {
		t.Errorf("disabled: %s", a.body)
	}
	if a = w.do(mine, "PATCH", webhooks+"/{webhook}", `{"paused":true}`); a.status != 422 || !strings.Contains(a.body, "enable it first") {
		t.Errorf("a disabled one is paused: %d %s", a.status, a.body)
	}
	w.do(mine, "POST", webhooks+"/{webhook}/enable", "")
	for _, paused := range []string{"true", "false"} {
		a = w.do(mine, "PATCH", webhooks+"/{webhook}", `{"paused":`+paused+`}`)
		if a.status != 200 || strings.Contains(a.body, `"status":"paused"`) != (paused == "true") {
			t.Errorf("paused %s: %d %s", paused, a.status, a.body)
		}
	}
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if got := enginehttp.HealthOf(&deliver.Endpoint{Status: deliver.EndpointActive, FailingSince: since}); got != "failing 2026-03-01T12:00:00.000Z" {
		t.Errorf("failing: %s", got)
	}
}

// The answer with one webhook counts its deliveries, and has the last error.
func TestWebhookDeliveries(t *testing.T) {
	w := newWorld(t)
	shown := func() map[string]any {
		t.Helper()
		a := w.do(mine, "GET", webhooks+"/{webhook}", "")
		d, there := a.decode(t)["deliveries"].(map[string]any)
		if !there {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if _, err := time.Parse(time.RFC3339, d["since"].(string)); err != nil {
			t.Error(err)
		}
		delete(d, "since")
		return d
	}
	if got := fmt.Sprint(shown()); got != "map[delivered:0 failed:0 last_error:<nil> oldest_waiting_at:<nil> waiting:0]" {
		t.Errorf("at first: %s", got)
	}
	made := time.Now()
	source := deliver.Source{Kind: deliver.SourceMonitor, ID: w.ids[mine].Replace("{monitor}"), Owner: mine}
	ev := deliver.Event{ID: deliver.EventID(source.ID, "5"), Source: source, TweetID: "5", Body: []byte("{}")}
	if err := w.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Events: []deliver.Event{ev}}}); err != nil {
		t.Fatal(err)
	}
	d := shown()
	if at, err := time.Parse(time.RFC3339, d["oldest_waiting_at"].(string)); d["waiting"] != 1.0 || err != nil || at.Before(made.Truncate(time.Millisecond)) {
		t.Errorf("one waits: %v", d)
	}
	failed := streamwatch.EndpointHealth{Delivered: 2, Failed: 1, LastError: deliver.Attempt{N: 3, At: made, StatusCode: 500, Error: "status 500", ResponsePreview: "down"}}
	if got := enginehttp.DeliveriesOf(failed); !strings.Contains(got, `"delivered":2,"failed":1,"last_error":{"at":"`) || !strings.HasSuffix(got, `"status_code":500,"duration_ms":0,"error":"status 500","response_preview":"down"}}`) {
		t.Errorf("some failed: %s", got)
	}
	if a := w.do(theirs, "GET", webhooks+"/"+w.ids[mine].Replace("{webhook}"), ""); a.status != 404 {
		t.Errorf("another owner: %d %s", a.status, a.body)
	}
}

// Changing the URL of the webhook of a monitor's webhook_url changes that, too.
func TestPatchedURLIsTheMonitors(t *testing.T) {
	w := newWorld(t)
	if a := w.do(mine, "PATCH", webhooks+"/{webhook}", `{"url":"https://hooks.example.com/moved"}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := w.do(mine, "GET", monitors+"/{monitor}", ""); !strings.Contains(a.body, `"webhook_url":"https://hooks.example.com/moved"`) {
		t.Errorf("the monitor shows %s", a.body)
	}
}

// A refused change of a webhook changes neither the webhook nor its monitor.
func TestRefusedPatchOfAWebhook(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{
		`{"url":"https://hooks.example.com/moved","headers":{"Host":"x"}}`,
		`{"url":"https://hooks.example.com/moved","paused":true}`, // of one that is disabled
	} {
		if _, err := w.engine.Endpoints().Disable(t.Context(), mine, w.ids[mine].Replace("{webhook}"), "down"); err != nil {
			t.Fatal(err)
		}
		if a := w.do(mine, "PATCH", webhooks+"/{webhook}", body); a.status != 422 {
			t.Errorf("%s: %d %s, want 422", body, a.status, a.body)
		}
		for _, target := range []string{monitors + "/{monitor}", webhooks} {
			if a := w.do(mine, "GET", target, ""); strings.Contains(a.body, "moved") {
				t.Errorf("%s, which was refused, left %s", body, a.body)
			}
		}
	}
	if a := w.do(mine, "PATCH", webhooks+"/{webhook}", `{"url":"https://hooks.example.com/moved","headers":{"X-A":"b"}}`); a.status != 200 ||
		!strings.Contains(a.body, `"url":"https://hooks.example.com/moved"`) || !strings.Contains(a.body, `"header_names":["X-A"]`) {
		t.Errorf("a change of both: %d %s", a.status, a.body)
	}
}
