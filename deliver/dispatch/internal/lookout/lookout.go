package lookout

import (
	"context"
	"sync"
	"time"
)

const (
	every   = time.Minute
	timeout = 5 * time.Second // of one endpoint
)

// Run calls follow once a minute for each endpoint that resting returns, with its owner,
// until stop is closed or ctx ends: then the context of a call under way ends, and no other call
// begins. After an error of follow the other endpoints wait for the next minute.
func Run(ctx context.Context, stop <-chan struct{}, resting func() map[string]string, follow func(ctx context.Context, owner, id string) error) {
	ctx, end := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-stop:
			end()
		case <-ctx.Done():
		}
	})
	defer waiting.Wait()
	defer end()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for id, owner := range resting() {
			select {
			case <-stop:
				return
			default:
			}
			call, cancel := context.WithTimeout(ctx, timeout)
			err := follow(call, owner, id)
			cancel()
			if err != nil {
				break
			}
		}
	}
}
