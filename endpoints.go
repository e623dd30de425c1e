package streamwatch

import (
	"context"
	"time"
)

// sealsEvery is how often endpoints that cannot be opened are looked for again while
// there are any: they may have been deleted, or sealed again by another process.
const sealsEvery = time.Minute

// keepEndpoints looks after what is stored of endpoints, until ctx ends.
func (e *Engine) keepEndpoints(ctx context.Context) error {
	tick := time.NewTicker(sealsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if e.sealed.Load() == nil {
			continue
		}
		if err := e.checkSeals(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Logger.Error("endpoints not read", "error", err)
		}
	}
}
