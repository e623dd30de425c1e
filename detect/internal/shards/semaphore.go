package shards

import (
	"context"
	"fmt"
)

// Acquire takes n slots of the semaphore sem. It waits until they are free.
func Acquire(ctx context.Context, sem chan struct{}, n int) error {
	for acquired := range n {
		select {
		case sem <- struct{}{}:
		case <-ctx.Done():
			Release(sem, acquired)
			return fmt.Errorf("detect: %w", context.Cause(ctx))
		}
	}
	return nil
}

// Release frees n slots of the semaphore sem.
func Release(sem chan struct{}, n int) {
	for range n {
		<-sem
	}
}
