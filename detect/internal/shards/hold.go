package shards

import (
	"context"
	"fmt"
)

// Hold acquires n slots of the semaphore sem.
func Hold(ctx context.Context, sem chan struct{}, n int) error {
	for held := range n {
		select {
		case sem <- struct{}{}:
		case <-ctx.Done():
			Release(sem, held)
			return fmt.Errorf("detect: %w", context.Cause(ctx))
		}
	}
	return nil
}

// Release gives n slots of the semaphore sem back.
func Release(sem chan struct{}, n int) {
	for range n {
		<-sem
	}
}
