package budget

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Budget bounds the upstream calls of one Fetcher: a token bucket, and a gate
// that a rate-limit answer closes. It is shared by all shards, and safe for
// concurrent use. Times are nanoseconds of the detector's clock.
type Budget struct {
	cfg     Config
	limiter *rate.Limiter // nil: unbounded
	until   atomic.Int64  // the gate is closed until then
	limited atomic.Bool   // it was closed, and no page came since it opened

	reading atomic.Int64 // polls that wait to read on: see WaitPage

	mu    sync.Mutex
	spare []int64 // tickets given back, earliest first
}

// MaxClosed is the longest time for which a rate limit closes the gate.
const MaxClosed = 15 * time.Minute

// Config sets up a Budget.
type Config struct {
	PerSecond float64 // 0 for no bound
	Burst     int     // calls that may be made at once after a lull
	Epoch     time.Time
	Clock     func() int64 // since Epoch
	Now       func() time.Time
	Stop      <-chan struct{} // closed to end all waiting
	Stopped   error           // with this
	Ring      func()          // lets polls begin again that Reading held up
	Logger    *slog.Logger
}

// New makes a budget whose gate is open.
func New(cfg Config) *Budget {
	b := &Budget{cfg: cfg}
	if cfg.PerSecond > 0 {
		b.limiter = rate.NewLimiter(rate.Limit(cfg.PerSecond), cfg.Burst)
	}
	return b
}

// Bounded reports whether calls wait for tickets.
func (b *Budget) Bounded() bool { return b.limiter != nil }

// Stopped is the error of waits that the detector's end cut short.
func (b *Budget) Stopped() error { return b.cfg.Stopped }

// Reading reports whether a poll waits to read on: see WaitPage.
func (b *Budget) Reading() bool { return b.reading.Load() > 0 }

// Closed is how long no call may be made, 0 or less when the gate is open.
func (b *Budget) Closed(now int64) time.Duration { return time.Duration(b.until.Load() - now) }

// Ticket takes one call out of the budget and says when it may be made.
func (b *Budget) Ticket(now int64) int64 {
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
	wall := b.cfg.Epoch.Add(time.Duration(now))
	return now + int64(b.limiter.ReserveN(wall, 1).DelayFrom(wall))
}

// giveBack lets the next caller have a ticket that was not used.
func (b *Budget) giveBack(at int64) {
	if b.limiter == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i, _ := slices.BinarySearch(b.spare, at)
	b.spare = slices.Insert(b.spare, i, at)
}

// Wait takes a call and waits until it may be made: first for the gate, so
// that all who waited do not come at once when it opens.
func (b *Budget) Wait(ctx context.Context) error {
	for {
		select {
		case <-b.cfg.Stop:
			return b.cfg.Stopped
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		now := b.cfg.Clock()
		closed := b.Closed(now)
		if closed <= 0 {
			at := b.Ticket(now)
			if err := b.pause(ctx, time.Duration(at-now)); err != nil {
				b.giveBack(at)
				return err
			}
			if b.Closed(b.cfg.Clock()) <= 0 {
				return nil
			}
			continue // it closed meanwhile
		}
		if err := b.pause(ctx, closed); err != nil {
			return err
		}
	}
}

// WaitPage is wait for a poll that reads on. No poll begins meanwhile: what has
// begun is finished first, so that all polls do not end late together.
func (b *Budget) WaitPage(ctx context.Context) error {
	b.reading.Add(1)
	defer func() {
		if b.reading.Add(-1) == 0 {
			b.cfg.Ring()
		}
	}()
	return b.Wait(ctx)
}

// pause waits, unless ctx ends or the detector stops.
func (b *Budget) pause(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-b.cfg.Stop:
		return b.cfg.Stopped
	case <-timer.C:
		return nil
	}
}

// CloseFor stops all calls for so long, at most MaxClosed, and a random part of
// two seconds longer, so that the processes that share a limit do not all come
// back at once. A gate never opens earlier than it was told before. The log is
// told of a gate that was open, not by each call that finds the limit.
func (b *Budget) CloseFor(wait time.Duration, why string) {
	if wait <= 0 {
		return
	}
	now := b.cfg.Clock()
	until := now + int64(min(wait, MaxClosed)+rand.N(2*time.Second))
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
			b.cfg.Logger.Warn("rate limited", "until", b.cfg.Now().Add(time.Duration(until-now)), "why", why)
		}
		return
	}
}

// Works notes that a call brought a page, and tells the log when it is the first
// after the gate was closed.
func (b *Budget) Works() {
	if b.limited.Load() && b.Closed(b.cfg.Clock()) <= 0 && b.limited.Swap(false) {
		b.cfg.Logger.Info("rate limit is over")
	}
}
