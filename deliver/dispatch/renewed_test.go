package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// slowRenewals is an Outbox that takes long to renew claims.
type slowRenewals struct{ deliver.Outbox }

func (s slowRenewals) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if ss[0].Attempt == nil {
		<-time.After(3 * time.Second)
	}
	return s.Outbox.Settle(ctx, ss...)
}

// claimed counts what was claimed from an Outbox, and the claims renewed of a delivery that is
// being sent.
type claimed struct {
	deliver.Outbox
	n       *atomic.Int64
	sending *atomic.Value // the delivery's id
}

func (c claimed) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	for _, s := range ss {
		if s.Attempt == nil && s.DeliveryID == c.sending.Load() {
			c.n.Add(1)
		}
	}
	return c.Outbox.Settle(ctx, ss...)
}

func (c claimed) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	list, err := c.Outbox.Claim(ctx, r)
	c.n.Add(int64(len(list)))
	return list, err
}

// Nobody can claim what waits in a lane for longer than its first claim lasts.
func TestWaitingDeliveriesKeepTheirClaims(t *testing.T) {
	for _, replay := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			var sending atomic.Value
			b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
				sending.Store(d.ID)
				<-time.After(9 * time.Second)
				return deliver.Result{OK: true, StatusCode: 200}
			}, func(c *dispatch.Config) {
				c.LaneInFlight = 1
				c.Outbox = claimed{c.Outbox, &n, &sending}
			})
			if replay {
				b.commit("a", "x", 12, false) // before there is an endpoint
			}
			b.endpoint("a")
			b.run()
			if !replay {
				b.commit("a", "x", 12, true)
			} else {
				b.replay(12)
			}
			pass(2 * time.Minute)
			if sent := len(b.all()); sent != 12 || n.Load() != 0 {
				t.Errorf("replay %v: %d were sent and %d claimed or renewed too often, want 12 and 0", replay, sent, n.Load())
			}
			b.stop()
		})
	}
}

// An attempt that fails while claims are renewed is made again after its wait, though its
// own claim was among those that were to be renewed.
func TestRenewalLeavesRetriesAlone(t *testing.T) {
	for _, retry := range []time.Duration{5 * time.Second, 12 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
				<-time.After(time.Second)
				return deliver.Result{OK: d.Attempts > 0 || len(d.Event.TweetID) != 3 || d.Event.TweetID[2]%2 > 0, StatusCode: 500}
			}, func(c *dispatch.Config) {
				c.LaneInFlight = 1
				c.RetrySchedule = []time.Duration{retry}
				c.Outbox = slowRenewals{c.Outbox}
			})
			b.endpoint("a")
			b.run()
			b.commit("a", "x", 40, true)
			pass(time.Hour)
			first := map[string]time.Time{}
			for _, s := range b.all() {
				if s.attempt == 1 {
					first[s.tweet] = s.at
				} else if after := s.at.Sub(first[s.tweet]); after < retry*8/10 {
					t.Errorf("%s was sent again after %s, want %s less a fifth, or more", s.tweet, after, retry)
				}
			}
			b.stop()
		})
	}
}
