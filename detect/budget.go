package detect

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/streamwatch/streamwatch/fetcher"
)

// budget bounds the upstream calls of one Fetcher: a token bucket, and a gate
// that a rate-limit answer closes. It is shared by all shards. Times are the
// detector's clock.
type budget struct {
	d       *Detector
	limiter *rate.Limiter // nil: unbounded
	until   atomic.Int64  // the gate is closed until then
	limited atomic.Bool   // it was closed, and no page came since it opened

	reading atomic.Int64 // polls that wait to read on: see waitPage

	mu    sync.Mutex
	spare []int64 // tickets given back, earliest first
}

func newBudget(d *Detector, perSecond float64, burst int) *budget {
	b := &budget{d: d}
	if perSecond > 0 {
		b.limiter = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	return b
}

// closed is how long no call may be made, 0 or less when the gate is open.
func (b *budget) closed(now int64) time.Duration { return time.Duration(b.until.Load() - now) }

// ticket takes one call out of the budget and says when it may be made.
func (b *budget) ticket(now int64) int64 {
	if b.limiter == nil {
		return now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A ticket that nobody used for longer than the bucket holds calls is void.
	void := now - int64(float64(b.limiter.Burst())/float64(b.limiter.Limit())*1e9)
	for len(b.spare) > 0 {
		at := b.spare[0]
		b.spare = b.spare[1:]
		if at > void {
			return at
		}
	}
	wall := b.d.epoch.Add(time.Duration(now))
	return now + int64(b.limiter.ReserveN(wall, 1).DelayFrom(wall))
}

// giveBack lets the next caller have a ticket that was not used.
func (b *budget) giveBack(at int64) {
	if b.limiter == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i, _ := slices.BinarySearch(b.spare, at)
	b.spare = slices.Insert(b.spare, i, at)
}

// wait takes a call and waits until it may be made: first for the gate, so
// that all who waited do not come at once when it opens.
func (b *budget) wait(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		now := b.d.clock()
		closed := b.closed(now)
		if closed <= 0 {
			at := b.ticket(now)
			if err := pause(ctx, stop, time.Duration(at-now)); err != nil {
				b.giveBack(at)
				return err
			}
			if b.closed(b.d.clock()) <= 0 {
				return nil
			}
			continue // it closed meanwhile
		}
		if err := pause(ctx, stop, closed); err != nil {
			return err
		}
	}
}

// waitPage is wait for a poll that reads on. No poll begins meanwhile: what has
// begun is finished first, so that all polls do not end late together.
func (b *budget) waitPage(ctx context.Context, stop <-chan struct{}) error {
	b.reading.Add(1)
	defer func() {
		if b.reading.Add(-1) == 0 {
			b.d.ring()
		}
	}()
	return b.wait(ctx, stop)
}

// pause waits, unless ctx ends or the detector stops.
func pause(ctx context.Context, stop <-chan struct{}, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-stop:
		return ErrStopped
	case <-timer.C:
		return nil
	}
}

// closeFor stops all calls for so long, at most maxClosed, and a random part of
// two seconds longer, so that the processes that share a limit do not all come
// back at once. A gate never opens earlier than it was told before. The log is
// told of a gate that was open, not by each call that finds the limit.
func (b *budget) closeFor(wait time.Duration, why string) {
	if wait <= 0 {
		return
	}
	now := b.d.clock()
	until := now + int64(min(wait, maxClosed)+rand.N(2*time.Second))
	for {
		old := b.until.Load()
		if until <= old {
			return
		}
		if !b.until.CompareAndSwap(old, until) {
			continue
		}
		b.limited.Store(true)
		if old <= now {
			b.d.cfg.Logger.Warn("rate limited", "until", b.d.wall(until), "why", why)
		}
		return
	}
}

// works notes that a call brought a page, and tells the log when it is the first
// after the gate was closed.
func (b *budget) works() {
	if b.limited.Load() && b.closed(b.d.clock()) <= 0 && b.limited.Swap(false) {
		b.d.cfg.Logger.Info("rate limit is over")
	}
}

// usedUp closes the budget when an answer says that no call is left before a
// time.
func (d *Detector) usedUp(limit fetcher.RateLimit) {
	if limit.Known && limit.Remaining == 0 {
		d.budget.closeFor(time.Until(limit.Reset), "the answer says that no call is left")
	}
}
