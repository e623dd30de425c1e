package delivertest

import (
	"context"
	"testing"
)

// Run runs a dispatcher. done has what it returned, and is then closed; cut ends it at once, which a
// test that fails early does, too.
func Run(t testing.TB, run func(context.Context) error) (done chan error, cut context.CancelFunc) {
	ctx, cut := context.WithCancel(context.Background())
	done = make(chan error, 1)
	go func() {
		done <- run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cut()
		<-done
	})
	return done, cut
}
