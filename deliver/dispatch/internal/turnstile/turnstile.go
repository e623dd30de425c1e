package turnstile

import "context"

// Turnstile lets one goroutine in at a time.
type Turnstile chan struct{}

// New returns a Turnstile with nobody in it.
func New() Turnstile { return make(Turnstile, 1) }

// Enter waits until the turnstile is free. If ctx ends first, Enter returns the cause.
func (t Turnstile) Enter(ctx context.Context) error {
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

// Do calls fn in the turnstile.
func (t Turnstile) Do(ctx context.Context, fn func() error) error {
	if err := t.Enter(ctx); err != nil {
		return err
	}
	defer t.Leave()
	return fn()
}

// Leave lets the next goroutine in.
func (t Turnstile) Leave() { <-t }
