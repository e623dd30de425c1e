package sending

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// Send calls a sender. A panic of the sender is a failure.
func Send(ctx context.Context, s deliver.Sender, dv *deliver.Delivery) (r deliver.Result) {
	defer func() {
		if v := recover(); v != nil {
			r = deliver.Result{Error: fmt.Sprintf("sender panicked: %v", v)}
		}
	}()
	return s.Send(ctx, dv)
}

// Bounded bounds a sender as attempts do.
type Bounded struct {
	Sender  deliver.Sender
	Timeout time.Duration
}

// Send implements deliver.Sender.
func (b Bounded) Send(ctx context.Context, dv *deliver.Delivery) deliver.Result {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	r := Send(ctx, b.Sender, dv)
	r.Bound()
	return r
}
