package shards

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Teller calls functions on all shards of a detector. If several callers use it, their functions
// run in the same order on all shards.
type Teller struct {
	Shards  []*Shard
	Done    <-chan struct{} // closed when no shard runs any more
	Stopped error           // the error of Tell after Done is closed

	mu    sync.Mutex
	begun bool
}

// Begin records that the shards run from now on. It returns false if it was called before.
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

// Tell calls fn on each shard, with the shard's index i, and waits until all these calls have
// called done. Before Begin it does not wait, and begun is false.
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

// Try is Tell for functions that may fail. It returns their errors joined.
func (t *Teller) Try(ctx context.Context, fn func(sh *Shard, i int, begun bool, done func(error))) error {
	var mu sync.Mutex
	var failed error
	err := t.Tell(ctx, func(sh *Shard, i int, begun bool, done func()) {
		fn(sh, i, begun, func(err error) {
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
			done()
		})
	})
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	return failed
}
