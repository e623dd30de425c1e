package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// settles is an outbox whose Settle is settle.
type settles struct {
	deliver.Outbox
	settle func(ctx context.Context, ss []deliver.Settlement) error
}

func (o settles) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	return o.settle(ctx, ss)
}

// A call that renews many claims goes on from where it ended when the time is over.
func TestRenewalGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const held = 8000
		renewed := map[string]int{}
		b := newBench(t, func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
			return takes(8*time.Second)(ctx, nil)
		}, func(c *dispatch.Config) {
			c.LaneQueue = held
			store := c.Outbox
			c.Outbox = settles{store, func(ctx context.Context, ss []deliver.Settlement) error {
				if ss[0].Attempt != nil {
					return store.Settle(ctx, ss...)
				}
				select {
				case <-time.After(1100 * time.Millisecond):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				for _, s := range ss {
					renewed[s.DeliveryID]++
				}
				return store.Settle(ctx, ss...)
			}}
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "p", held, true)
		pass(40 * time.Second)
		twice := 0
		for _, n := range renewed {
			if n > 1 {
				twice++
			}
		}
		if len(renewed) < held-100 || twice > 0 {
			t.Errorf("%d of %d claims renewed in 40 s, %d of them twice; want all, and none twice", len(renewed), held, twice)
		}
		b.cut()
		<-b.done
	})
}
