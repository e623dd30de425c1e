package deliver

import (
	"context"
	"errors"
	"testing"
)

func TestHandlers(t *testing.T) {
	h := Handlers{
		"takes":   func(_ context.Context, e Event) error { return nil },
		"refuses": func(_ context.Context, e Event) error { return errors.New("not " + e.ID) },
		"panics":  func(context.Context, Event) error { panic("oops") },
	}
	for name, want := range map[string]Result{
		"takes": {OK: true}, "refuses": {Error: "not evt_1"}, "panics": {Error: "handler panicked: oops"},
		"none": {Error: `no handler named "none" in this process`},
	} {
		if r := h.Send(t.Context(), &Delivery{EndpointID: HandlerEndpoint(name), Event: &Event{ID: "evt_1"}}); r != want {
			t.Errorf("%s: %+v, want %+v", name, r, want)
		}
	}
}
