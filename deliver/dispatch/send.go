package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// send calls a sender. A panic of the sender is a failure.
func send(ctx context.Context, s deliver.Sender, dv *deliver.Delivery) (r deliver.Result) {
	defer func() {
		if v := recover(); v != nil {
			r = deliver.Result{Error: fmt.Sprintf("sender panicked: %v", v)}
		}
	}()
	return s.Send(ctx, dv)
}

// bounded bounds a sender as attempts do.
type bounded struct {
	Sender  deliver.Sender
	Timeout time.Duration
}

// Send implements deliver.Sender.
func (b bounded) Send(ctx context.Context, dv *deliver.Delivery) deliver.Result {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	r := send(ctx, b.Sender, dv)
	r.Bound()
	return r
}
