package deliver

import (
	"context"
	"fmt"
)

// SchemeHandler is the scheme under which in-process handlers are sent to.
const SchemeHandler = "handler"

// Handler gets events in-process. A nil error means the event is taken; after
// an error it comes again, by the retry schedule. An event may come more than
// once, with the same ID. It must return when ctx ends, which is after
// dispatch.Config.Timeout.
type Handler func(ctx context.Context, e Event) error

// Handlers is the Sender for in-process handlers, by name.
type Handlers map[string]Handler

// Send calls the handler; one that panics has failed.
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
