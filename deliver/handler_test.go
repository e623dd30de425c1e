package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// A handler's error, panic or wait is the result of the attempt.
func TestHandlers(t *testing.T) {
	for _, row := range []struct {
		name   string
		handle deliver.Handler
		want   deliver.Result
	}{
		{"accepted", func(context.Context, deliver.Event) error { return nil }, deliver.Result{OK: true}},
		{"failed", func(context.Context, deliver.Event) error { return errors.New("down") }, deliver.Result{Error: "down"}},
		{"panicked", func(context.Context, deliver.Event) error { panic("x") }, deliver.Result{Error: "handler panicked: x"}},
		{"asks for a wait", func(context.Context, deliver.Event) error { return deliver.RetryAfter(3 * time.Second) },
			deliver.Result{Error: "asked to retry after 3s", RetryAfter: 3 * time.Second}},
		{"asks for a wait and says why", func(context.Context, deliver.Event) error {
			return fmt.Errorf("slack: 429: %w", deliver.RetryAfter(time.Minute))
		},
			deliver.Result{Error: "slack: 429: asked to retry after 1m0s", RetryAfter: time.Minute}},
		{"asks for less than nothing", func(context.Context, deliver.Event) error { return deliver.RetryAfter(-time.Second) }, deliver.Result{Error: "asked to retry after -1s"}},
	} {
		d := &deliver.Delivery{EndpointID: deliver.HandlerEndpoint("h"), Event: &deliver.Event{}}
		if got := (deliver.Handlers{"h": row.handle}).Send(t.Context(), d); got != row.want {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
	if got := (deliver.Handlers{}).Send(t.Context(), &deliver.Delivery{EndpointID: deliver.HandlerEndpoint("h")}); got != (deliver.Result{Error: `no handler named "h" in this process`}) {
		t.Errorf("no such handler: %+v", got)
	}
}
