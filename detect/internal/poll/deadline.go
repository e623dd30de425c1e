package poll

import (
	"context"
	"sync"
	"time"
)

// deadline is a context like that of context.WithDeadline, but cheaper: it makes its timer and
// registers with its parent only when Done is called. A Fetcher that answers from memory, or with a
// client that checks the deadline itself, never calls Done.
type deadline struct {
	parent context.Context
	at     time.Time

	mu     sync.Mutex
	inner  context.Context // nil until Done is called
	cancel context.CancelFunc
	over   bool
}

var _ context.Context = (*deadline)(nil)

// withDeadline returns a context that ends at a given time, or earlier with its parent.
func withDeadline(parent context.Context, at time.Time) *deadline {
	return &deadline{parent: parent, at: at}
}

func (c *deadline) Deadline() (time.Time, bool) {
	if at, ok := c.parent.Deadline(); ok && at.Before(c.at) {
		return at, true
	}
	return c.at, true
}

func (c *deadline) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithDeadline(c.parent, c.at)
		if c.over {
			c.cancel()
		}
	}
	return c.inner.Done()
}

func (c *deadline) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inner != nil:
		return c.inner.Err()
	case c.parent.Err() != nil:
		return c.parent.Err()
	case c.over:
		return context.Canceled
	case time.Until(c.at) <= 0:
		return context.DeadlineExceeded
	}
	return nil
}

// Value lets package context find the inner context, so contexts derived from c need no goroutine
// that waits for c.
func (c *deadline) Value(key any) any {
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return c.parent.Value(key)
}

// End cancels the context.
func (c *deadline) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.cancel != nil {
		c.cancel()
	}
}
