package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
)

// For -race, in real time: virtual time orders what the code does not. The
// store is slow. The reader is within Claim when the worker, whose claim ran out
// while it read the endpoint, copies the delivery without the lock; then the
// reader renews the claim, under the lock.
func TestRenewedClaimIsNoRace(t *testing.T) {
	release, get, claimed, claim := make(chan struct{}), make(chan struct{}), make(chan struct{}, 100), make(chan struct{})
	b := newBench(t, nil, func(c *dispatch.Config) {
		c.Timeout, c.Lease = 10*time.Millisecond, 40*time.Millisecond
		c.LaneQueue, c.LaneInFlight = 1, 1
		c.Senders["https"] = held{release}
		c.Endpoints = slowGet{c.Endpoints, func(context.Context) { <-get }}
		c.Outbox = slowClaim{c.Outbox, claimed, claim}
	})
	b.endpoint("a")
	b.endpoint("b")
	commit := func(source string, n int, deliverBy time.Duration) []deliver.Delivery {
		bt := &detect.Batch{DeliverBy: time.Now().Add(deliverBy)}
		for i := range n {
			tweet := fmt.Sprint(i)
			bt.Events = append(bt.Events, deliver.Event{ID: deliver.EventID(source, tweet), Source: src(source), TweetID: tweet, Body: []byte("{}")})
		}
		if err := b.store.Journal().Commit(t.Context(), []*detect.Batch{bt}); err != nil {
			t.Fatal(err)
		}
		return bt.Deliveries
	}
	late := commit("b", 3, time.Hour)
	ctx, cut := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.d.Run(ctx) }()
	b.d.Enqueue(commit("a", 1, 100*time.Millisecond))
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		runtime.Gosched()
	}
	b.d.Enqueue(late) // one overflows: the reader looks, and claims the first again
	<-claimed
	close(get)
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		runtime.Gosched()
	}
	close(claim)
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		runtime.Gosched()
	}
	close(release)
	b.d.Stop()
	<-done
	cut()
}

// Another claimant's attempt is recorded while this one still queues the
// delivery: the renewed claim keeps the old number of attempts, and the
// outcome of this attempt is dropped as known.
func TestRenewedClaimKnowsTheAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			if d.Event.TweetID == "block0" {
				<-time.After(70 * time.Second) // ignores its context
			}
			return deliver.Result{OK: true}
		}, func(c *dispatch.Config) { c.LaneInFlight = 1 })
		b.endpoint("a")
		b.endpoint("z")
		b.commit("z", "wake", 1, false) // has the reader look after 45 s
		b.run()
		b.commit("a", "block", 1, true)
		b.commit("a", "p", 1, true)
		id := deliver.DeliveryID(deliver.EventID("a", "p0"), "a")
		// Another process: claims both when they are due, and p0's attempt fails.
		pass(44900 * time.Millisecond)
		ob := b.store.Outbox()
		if _, err := ob.Claim(t.Context(), deliver.ClaimRequest{Now: time.Now().Add(time.Second), Lease: time.Second, Limit: 10}); err != nil {
			t.Fatal(err)
		}
		if err := ob.Settle(t.Context(), deliver.Settlement{DeliveryID: id, State: deliver.StateRetrying, Due: time.Now().Add(5 * time.Second),
			Attempt: &deliver.Attempt{N: 1, At: time.Now(), Error: "status 500"}}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		b.stop()
		n := 0
		for _, s := range b.all() {
			if s.id == id {
				n++
			}
		}
		if n != 1 {
			t.Errorf("p0 was sent %d times by this process although its first attempt was accepted", n)
		}
	})
}

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

// failingClaim is an outbox that may fail to claim.
type failingClaim struct {
	deliver.Outbox
	fails *atomic.Bool
}

func (o failingClaim) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if o.fails.Load() {
		return nil, errors.New("connection refused")
	}
	return o.Outbox.Claim(ctx, r)
}
