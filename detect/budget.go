package detect

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// budget bounds the upstream calls of one Fetcher: a token bucket, and a gate
// that a rate-limit answer closes. It is shared by all shards.
type budget struct {
	limiter *rate.Limiter // nil: unbounded
	closed  atomic.Int64  // Unix nanoseconds until which no call is made
}

func newBudget(perSecond float64, burst int) *budget {
	b := &budget{}
	if perSecond > 0 {
		b.limiter = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	return b
}

// ticket takes one call out of the budget and says when it may be made.
func (b *budget) ticket(now time.Time) time.Time {
	if b.limiter == nil {
		return now
	}
	return now.Add(b.limiter.ReserveN(now, 1).DelayFrom(now))
}

// openAt is from when on calls may be made.
func (b *budget) openAt() time.Time { return time.Unix(0, b.closed.Load()) }

// wait takes a call and waits until it may be made.
func (b *budget) wait(ctx context.Context, stop <-chan struct{}) error {
	at := b.ticket(time.Now())
	for {
		if open := b.openAt(); open.After(at) {
			at = open
		}
		d := time.Until(at)
		if d <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(d)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-stop:
			timer.Stop()
			return errStopped
		case <-timer.C:
		}
	}
}

// closeUntil stops all calls until t, at most maxClosed ahead, and a random
// part of two seconds longer, so that the processes that share a limit do not
// all come back at once. A gate never opens earlier than it was told before.
func (b *budget) closeUntil(t time.Time) {
	now := time.Now()
	if latest := now.Add(maxClosed); t.After(latest) {
		t = latest
	}
	if !t.After(now) {
		return
	}
	until := t.Add(rand.N(2 * time.Second)).UnixNano()
	for {
		old := b.closed.Load()
		if until <= old || b.closed.CompareAndSwap(old, until) {
			return
		}
	}
}
