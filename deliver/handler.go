package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// SchemeHandler is the URL scheme of in-process handlers.
const SchemeHandler = "handler"

// Handler receives events in-process. A nil error accepts the event. After an error the handler is
// called again by the retry schedule, or when RetryAfter says. It may be called more than once with events of the same ID.
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
		r.Error = err.Error()
		if wait := retryAfter(0); errors.As(err, &wait) {
			r.RetryAfter = max(time.Duration(wait), 0)
		}
		return r
	}
	return Result{OK: true}
}

// RetryAfter returns an error with which a Handler, or an error that it wraps, asks to be called
// again after d, as a webhook does with Retry-After: see Result.RetryAfter.
func RetryAfter(d time.Duration) error { return retryAfter(d) }

type retryAfter time.Duration

func (d retryAfter) Error() string { return "asked to retry after " + time.Duration(d).String() }
