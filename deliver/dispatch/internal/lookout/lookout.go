package lookout

import (
	"context"
	"time"
)

const (
	every   = time.Minute
	timeout = 5 * time.Second // of one endpoint
)

// Run calls follow once a minute for each endpoint that resting returns, with its owner,
// until stop is closed or ctx ends. After that no call begins, and one under way ends within
// timeout. After an error of follow the other endpoints wait for the next minute.
func Run(ctx context.Context, stop <-chan struct{}, resting func() map[string]string, follow func(ctx context.Context, owner, id string) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-stop:
			return
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
