package shards

import (
	"context"
	"fmt"
	"sync"
)

// Teller tells all shards of a detector what to do. What several callers tell comes in the
// same order on all shards.
type Teller struct {
	Shards  []*Shard
	Done    <-chan struct{} // closed when no shard runs any more
	Stopped error           // the answer then

	mu    sync.Mutex
	begun bool
}

// Begin says that the shards run from now on, and returns false when it was called before.
func (t *Teller) Begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.begun
	t.begun = true
	return first
}

// Begun reports whether Begin was called.
func (t *Teller) Begun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun
}

// Tell has fn called on each shard, which is the i-th, and waits until each has called
// done. Before Begin, as begun says, it does not wait.
func (t *Teller) Tell(ctx context.Context, fn func(sh *Shard, i int, begun bool, done func())) error {
	waits := make([]chan struct{}, len(t.Shards))
	t.mu.Lock()
	begun := t.begun
	for i, sh := range t.Shards {
		waits[i] = make(chan struct{})
		done := func() { close(waits[i]) }
		sh.Tell(func(sh *Shard) { fn(sh, i, begun, done) })
	}
	t.mu.Unlock()
	if !begun {
		return nil
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-t.Done:
			return t.Stopped
		case <-ctx.Done():
			return fmt.Errorf("detect: %w", context.Cause(ctx))
		}
	}
	return nil
}
