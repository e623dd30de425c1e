package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// Invariant 5: who holds a delivery sends it only while the claim outlasts
// the attempt. The claim is looked at before the endpoint is read, and that read
// has no deadline.
func TestSlowEndpointReadKeepsTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Endpoints = slowGet{c.Endpoints, func(ctx context.Context) {
				select {
				case <-time.After(5 * time.Minute):
				case <-ctx.Done():
				}
			}}
		})
		b.endpoint("a")
		b.run()
		began := time.Now()
		b.commit("a", "p", 1, true)
		pass(10 * time.Minute)
		b.stop()
		for _, s := range b.all() {
			if d := s.at.Sub(began); d > 35*time.Second && d < 6*time.Minute {
				t.Errorf("an attempt began %s after the commit; the claim ended at 45 s, no other was asked for", d)
			}
		}
	})
}

// While the store is down no claim is renewed: attempts end with the claim, and
// what is left is sent when the store is back.
func TestStoreThatIsDownEndsTheClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(5 * time.Second)
			return deliver.Result{OK: true}
		}, func(c *dispatch.Config) { c.Outbox, c.LaneInFlight = downOutbox{c.Outbox, &down}, 1 })
		b.endpoint("a")
		b.run()
		began := time.Now()
		b.commit("a", "p", 20, true)
		down.Store(true)
		pass(5 * time.Minute)
		for _, s := range b.all() {
			if d := s.at.Sub(began); d > 35*time.Second {
				t.Errorf("an attempt of 10 s at most began %s after the commit, the claim ended at 45 s", d)
			}
		}
		down.Store(false)
		pass(10 * time.Minute)
		b.stop()
		counts := map[string]int{}
		for _, s := range b.all() {
			counts[s.id]++
		}
		if len(counts) != 20 {
			t.Errorf("%d of 20 sent in the end", len(counts))
		}
	})
}

// Deliveries that are claimed and find no room keep their place among those that are in
// the outbox still.
func TestClaimedOverflowKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, takes(time.Second), func(c *dispatch.Config) {
			c.LaneQueue, c.LaneInFlight = 25, 1 // two claims of 12 leave room for less than a third
		})
		b.endpoint("a")
		b.commit("a", "p", 100, false)
		pass(time.Minute)
		b.run()
		pass(5 * time.Minute)
		for i, s := range b.all() {
			if want := fmt.Sprint("p", i); s.tweet != want {
				t.Fatalf("attempt %d is of %s, want %s", i, s.tweet, want)
			}
		}
		if n := len(b.all()); n != 100 {
			t.Errorf("%d of 100 sent", n)
		}
		b.stop()
	})
}

// A delivery whose claim ends while its outcome waits for the store may be claimed as it was
// before. When the outcome is recorded during that Claim, the delivery is not sent again.
func TestClaimFromBeforeTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Outbox = &lateClaims{Outbox: c.Outbox, claimed: make(chan struct{}), settled: make(chan struct{})}
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 1, true)
		pass(5 * time.Minute)
		if n := len(b.all()); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
		b.stop()
	})
}

// lateClaims records no outcome before a delivery has been claimed, and returns that claim
// after the outcome was recorded.
type lateClaims struct {
	deliver.Outbox
	claimed, settled chan struct{}
	once             sync.Once
}

func (l *lateClaims) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	select {
	case <-l.claimed:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := l.Outbox.Settle(ctx, ss...)
	l.once.Do(func() { close(l.settled) })
	return err
}

func (l *lateClaims) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	ds, err := l.Outbox.Claim(ctx, r)
	if len(ds) > 0 {
		close(l.claimed)
		<-l.settled
		synctest.Wait() // until the outcome's delivery is forgotten
	}
	return ds, err
}
