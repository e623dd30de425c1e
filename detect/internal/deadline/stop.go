package deadline

import (
	"context"
	"sync"
)

// UntilStop returns a context that ends with ctx and when stop is closed. end has to be
// called.
func UntilStop(ctx context.Context, stop <-chan struct{}) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); waiting.Wait() }
}
