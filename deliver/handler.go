package deliver

import (
	"context"
	"fmt"
)

// SchemeHandler is the URL scheme of in-process handlers.
const SchemeHandler = "handler"

// Handler receives events in-process. A nil error accepts the event. After an error the handler is
// called again by the retry schedule. It may be called more than once with events of the same ID.
// ctx ends after dispatch.Config.Timeout; the handler must then return.
type Handler func(ctx context.Context, e Event) error

// Handlers is the Sender for in-process handlers. The key is the handler's name.
type Handlers map[string]Handler

// Send calls the handler. If the handler panics, the attempt has failed.
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
