package deliver

import (
	"context"
	"fmt"
)

// SchemeHandler is the URL scheme of in-process handlers.
const SchemeHandler = "handler"

// Handler receives events in-process. A nil error means that it has accepted the
// event; after an error it is called again, by the retry schedule. It may be called
// more than once with an event of the same ID. It must return when ctx ends, which
// is after dispatch.Config.Timeout.
type Handler func(ctx context.Context, e Event) error

// Handlers is the Sender for in-process handlers, by name.
type Handlers map[string]Handler

// Send calls the handler. A panic of the handler is a failure.
func (h Handlers) Send(ctx context.Context, d *Delivery) (r Result) {
	name, _ := HandlerName(d.EndpointID)
	handle, ok := h[name]
	if !ok {
		return Result{Error: fmt.Sprintf("no handler named %q in this process", name)}
	}
	defer func() {
		if v := recover(); v != nil {
			r = Result{Error: fmt.Sprintf("handler panicked: %v", v)}
		}
	}()
	if err := handle(ctx, *d.Event); err != nil {
		return Result{Error: err.Error()}
	}
	return Result{OK: true}
}
