package detect

import (
	"context"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// message is what a shard is sent: one of its fields; err goes with settled.
type message struct {
	set     *setting
	remove  *removal
	landed  *poll.Poll // its pages have come
	settled *poll.Poll // what it brought is committed, or with err is not
	err     error
	probed  *probe.Call // has ended
	ask     func(*shard)
}

// setting adds or replaces a source's subscription on this shard.
type setting struct {
	sub  accounts.Subscription
	done chan struct{}
}

// removal ends a source's subscription; done is closed when nothing of it can
// be committed any more.
type removal struct {
	sourceID string
	done     chan struct{}
}

func (r *removal) settled() { close(r.done) }

// ask runs fn on a shard's goroutine and waits for it.
func (d *Detector) ask(ctx context.Context, sh *shard, fn func(*shard)) error {
	done := make(chan struct{})
	sh.mail.Put(message{ask: func(sh *shard) { fn(sh); close(done) }})
	select {
	case <-done:
		return nil
	case <-d.stop: // Run waits for some of the callers
		return ErrStopped
	case <-d.done:
		return ErrStopped
	case <-ctx.Done():
		return fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}

// untilStop returns a context that ends with ctx and when stop is closed. end has to be
// called.
func untilStop(ctx context.Context, stop <-chan struct{}) (_ context.Context, end func()) {
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
