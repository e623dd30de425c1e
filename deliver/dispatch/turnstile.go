package dispatch

import "context"

// turnstile lets one goroutine in at a time.
type turnstile chan struct{}

// newTurnstile returns a turnstile with nobody in it.
func newTurnstile() turnstile { return make(turnstile, 1) }

// enter waits until the turnstile is free. If ctx ends first, enter returns the cause.
func (t turnstile) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// do calls fn in the turnstile.
func (t turnstile) do(ctx context.Context, fn func() error) error {
	if err := t.enter(ctx); err != nil {
		return err
	}
	defer t.leave()
	return fn()
}

// leave lets the next goroutine in.
func (t turnstile) leave() { <-t }
