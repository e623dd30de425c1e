package deliver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// What stores select by says the same as ViaOf, whatever the id.
func TestWaysOfDelivery(t *testing.T) {
	ways := []deliver.Via{deliver.ViaWebhook, deliver.ViaHandler, deliver.ViaWebSocket}
	for id, want := range map[string]deliver.Via{
		"whk_abc": deliver.ViaWebhook, "": deliver.ViaWebhook, "handler": deliver.ViaWebhook, "websocket/acme": deliver.ViaWebhook,
		"Handler:a": deliver.ViaWebhook,
		"handler:a": deliver.ViaHandler, "handler:": deliver.ViaHandler, "handler:websocket": deliver.ViaHandler, "handler:websockets/a": deliver.ViaHandler,
		"handler:websocket/": deliver.ViaWebSocket, "handler:websocket/acme": deliver.ViaWebSocket,
	} {
		if got := deliver.ViaOf(id); got != want {
			t.Errorf("ViaOf(%q) = %q, want %q", id, got, want)
		}
		for _, way := range ways {
			with, without := way.Prefixes()
			selected := strings.HasPrefix(id, with) && (without == "" || !strings.HasPrefix(id, without))
			if selected != (way == want) {
				t.Errorf("%q is selected for %q by %q and not %q: %t", id, way, with, without, selected)
			}
		}
	}
	if with, without := deliver.Via("").Prefixes(); with != "" || without != "" {
		t.Errorf("all ways: %q, %q, want no condition", with, without)
	}
}

func TestLogEntryTimes(t *testing.T) {
	at := func(sec int) time.Time { return published.Add(time.Duration(sec) * time.Second) }
	try := func(n, sec int) deliver.Attempt {
		return deliver.Attempt{N: n, At: at(sec), Duration: 2 * time.Second}
	}
	var never time.Time
	for _, row := range []struct {
		name                string
		state               deliver.State
		log                 []deliver.Attempt
		first, acknowledged time.Time
	}{
		{"not attempted", deliver.StatePending, nil, never, never},
		{"to be retried", deliver.StateRetrying, []deliver.Attempt{try(1, 10)}, at(10), never},
		{"delivered at once", deliver.StateDelivered, []deliver.Attempt{try(1, 10)}, at(10), at(12)},
		{"delivered by a retry", deliver.StateDelivered, []deliver.Attempt{try(1, 10), try(2, 20), try(3, 30)}, at(10), at(32)},
		{"given up", deliver.StateFailed, []deliver.Attempt{try(1, 10), try(2, 20)}, at(10), never},
		{"its endpoint deleted before an attempt", deliver.StateFailed, nil, never, never},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := deliver.LogEntry{Delivery: deliver.Delivery{State: row.state}, Log: row.log}
			if got := e.FirstAttemptAt(); !got.Equal(row.first) {
				t.Errorf("FirstAttemptAt = %s, want %s", got, row.first)
			}
			if got := e.AcknowledgedAt(); !got.Equal(row.acknowledged) {
				t.Errorf("AcknowledgedAt = %s, want %s", got, row.acknowledged)
			}
		})
	}
}

// A query that is not allowed names the field.
func TestLogQueryIsChecked(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		want string // "" if it is allowed
		q    deliver.LogQuery
	}{
		{"", deliver.LogQuery{}},
		{"", deliver.LogQuery{Page: 1, PageSize: deliver.MaxLogPage, Since: now, Until: now.Add(1), SourceKind: deliver.SourceRule, Via: deliver.ViaHandler, State: deliver.StateFailed}},
		{"", deliver.LogQuery{Until: now}},
		{"page", deliver.LogQuery{Page: -1}},
		{"page_size", deliver.LogQuery{PageSize: -1}},
		{"page_size", deliver.LogQuery{PageSize: deliver.MaxLogPage + 1}},
		{"until", deliver.LogQuery{Since: now, Until: now}},
		{"source_kind", deliver.LogQuery{SourceKind: "x"}},
		{"via", deliver.LogQuery{Via: "x"}},
		{"delivery_status", deliver.LogQuery{State: "x"}},
	} {
		var fe *deliver.FieldError
		if err := row.q.Validate(); (err == nil) != (row.want == "") || err != nil && (!errors.As(err, &fe) || fe.Wire != row.want) {
			t.Errorf("%+v: %v, want an error of %q", row.q, err, row.want)
		}
	}
}
