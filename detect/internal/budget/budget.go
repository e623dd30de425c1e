package budget

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/spend"
)

// Budget limits the upstream calls of one Fetcher with a token bucket and a gate. Rate
// limits of the upstream close the gate. All shards share the Budget; it is safe for
// concurrent use. Times are nanoseconds of the detector's clock.
type Budget struct {
	// Buckets are the limits on some of the calls.
	Buckets *Buckets
	// Spend counts the platform's charges.
	Spend *spend.Spend

	cfg     Config
	saved   float64      // how many calls may be saved at Config.PerSecond
	until   atomic.Int64 // when the gate opens after a rate limit; Spend may keep the gate closed for longer
	limited atomic.Bool  // the gate was closed, and no page has arrived since

	rate    atomic.Uint64 // bits of a float64: calls per second, set by SetRate
	changes atomic.Uint64 // number of changes of rate: see Changes

	reading atomic.Int64 // polls that wait to read further pages: see WaitPage

	mu      sync.Mutex
	bucket  bucket
	spare   []int64       // tickets given back, earliest first
	changed chan struct{} // closed when rate changes
}

// MaxClosed is the longest time that a rate limit closes the gate.
const MaxClosed = 15 * time.Minute

// Config sets up a Budget.
type Config struct {
	PerSecond float64 // 0 means no limit
	Burst     int     // calls that may be made together after a pause
	// Saves keeps the calls of Burst above Slack for polls that are due: see LostFrom. No calls are
	// saved at the start, or while a rate limit keeps the gate or a bucket closed.
	Saves bool
	// Shared is true if probes use all calls that polls leave over. LostFrom then returns nil.
	Shared  bool
	Epoch   time.Time
	Clock   func() int64 // nanoseconds since Epoch
	Now     func() time.Time
	Stop    <-chan struct{} // closed to end all waits
	Stopped error           // error of waits that Stop ends
	// Backoff returns how long a bucket is closed after the n-th refusal in a row, n from 1, if the
	// platform does not say.
	Backoff func(n int) time.Duration
	Ring    func() // wakes callers that wait because of Reading, or for a ticket after a change of rate
	// Limited is called when a rate limit has closed a bucket; "" is the gate. It may be nil.
	Limited func(bucket string, until time.Time)
	// Spend's fields Now and Reached are set by New.
	Spend  spend.Config
	Logger *slog.Logger
}

// New returns a Budget with an open gate.
func New(cfg Config) *Budget {
	b := &Budget{changed: make(chan struct{})}
	if cfg.Limited == nil {
		cfg.Limited = func(string, time.Time) {}
	}
	b.cfg, b.Buckets = cfg, newBuckets(cfg)
	b.rate.Store(math.Float64bits(cfg.PerSecond))
	cfg.Spend.Now, cfg.Spend.Reached = cfg.Now, b.spent
	b.Spend = spend.New(cfg.Spend)
	if cfg.Saves {
		b.saved = float64(max(0, cfg.Burst-Slack(cfg.PerSecond)))
	}
	b.Buckets.closed = b.forget
	if burst := float64(cfg.Burst); cfg.PerSecond > 0 {
		b.bucket = bucket{rate: cfg.PerSecond, burst: burst, saved: b.saved, tokens: burst - b.saved, last: cfg.Clock()}
	}
	return b
}

// Bounded reports whether calls are limited and so wait for tickets.
func (b *Budget) Bounded() bool { return b.cfg.PerSecond > 0 }

// Stopped returns the error of waits that the detector's stop ended.
func (b *Budget) Stopped() error { return b.cfg.Stopped }

// Reading reports whether a poll waits to read a further page: see WaitPage.
func (b *Budget) Reading() bool { return b.reading.Load() > 0 }

// Closed returns how long the gate stays closed, 0 or less if it is open. Spend's limit ends by the
// wall clock. That clock may be set, and goes on while the machine sleeps. A waiting caller must
// therefore call Closed again after AskAgain at most.
func (b *Budget) Closed(now int64) time.Duration {
	return max(time.Duration(b.until.Load()-now), b.Spend.Wait())
}

// AskAgain is the longest wait for the gate before Closed must be called again.
const AskAgain = time.Minute

// Ticket takes one call out of the budget and returns when it may be made.
func (b *Budget) Ticket(now int64) int64 {
	if !b.Bounded() {
		return now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Rate() == 0 {
		return never
	}
	// A spare ticket is void if it is older than the time in which the bucket fills.
	void := now - int64(b.bucket.burst/b.bucket.rate*1e9)
	for len(b.spare) > 0 {
		at := b.spare[0]
		b.spare = b.spare[1:]
		if at > void {
			return at
		}
	}
	return b.bucket.take(now)
}

// GiveBack gives an unused ticket to the next caller. changes is the result of Changes from before
// the ticket was taken.
func (b *Budget) GiveBack(at int64, changes uint64) {
	if !b.Bounded() || at == never {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if changes != b.changes.Load() { // the ticket belongs to another rate
		b.bucket.tokens++
		return
	}
	i, _ := slices.BinarySearch(b.spare, at)
	b.spare = slices.Insert(b.spare, i, at)
}

// Wait takes one call out of the budget and waits until it may be made. It first waits for the gate
// and then takes a ticket. So callers keep to the rate when the gate opens.
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
		changes, changed := b.change()
		closed := b.Closed(now)
		if closed <= 0 {
			at := b.Ticket(now)
			if err := b.pause(ctx, time.Duration(at-now), changed); err != nil {
				b.GiveBack(at, changes)
				return err
			}
			switch {
			case changes != b.changes.Load() && at > b.cfg.Clock():
				b.GiveBack(at, changes)
			case b.Closed(b.cfg.Clock()) <= 0:
				return nil
			}
			continue // the gate has closed, or the rate has changed
		}
		if err := b.pause(ctx, min(closed, AskAgain), changed); err != nil {
			return err
		}
	}
}

// WaitPage is Wait for a further page of a poll. While it waits, Reading is true and no new poll
// should begin: polls that have begun are finished first.
func (b *Budget) WaitPage(ctx context.Context) error {
	b.reading.Add(1)
	defer func() {
		if b.reading.Add(-1) == 0 {
			b.cfg.Ring()
		}
	}()
	return b.Wait(ctx)
}

// pause waits for the given time. It returns early when changed is closed. It returns an error when
// ctx ends or the detector stops.
func (b *Budget) pause(ctx context.Context, wait time.Duration, changed <-chan struct{}) error {
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
	case <-changed:
		return nil
	case <-timer.C:
		return nil
	}
}

// CloseFor closes the gate for the given time, at most MaxClosed, plus up to two random seconds.
// The random part keeps processes that share a limit from returning together. If an earlier call
// closed the gate for longer, it stays closed for that time. CloseFor logs the closing of an open
// gate, and calls Limited.
func (b *Budget) CloseFor(wait time.Duration, why string) {
	if until, ok := b.close(min(wait, MaxClosed), why); ok {
		b.cfg.Limited("", until)
	}
}

// Refused closes a bucket, or the gate if name is "", because the platform has refused a call that
// was made at begun. wait is what the platform asks for. If that is 0, the bucket is closed by
// Config.Backoff of its refusals since one of its calls succeeded.
func (b *Budget) Refused(name string, begun int64, wait time.Duration, why string) {
	if wait <= 0 {
		n, ok := b.Buckets.refused(name, begun)
		if !ok {
			return
		}
		wait = b.cfg.Backoff(n)
	}
	if name == "" {
		b.CloseFor(wait, why)
	} else {
		b.Buckets.CloseFor(name, wait, why)
	}
}

// Close is CloseFor for a limit that another process has met. The time has no maximum, and Limited
// is not called.
func (b *Budget) Close(wait time.Duration, why string) { b.close(wait, why) }

// spent implements Spend's Reached. It records that the limit of Spend has closed the gate.
func (b *Budget) spent(wait time.Duration, why string) {
	b.limited.Store(true)
	b.cfg.Logger.Warn("rate limited", "until", b.cfg.Now().Add(wait), "why", why)
}

// close closes the gate and returns when it opens. ok is false if the gate was already closed for
// longer.
func (b *Budget) close(wait time.Duration, why string) (opens time.Time, ok bool) {
	if wait <= 0 {
		return time.Time{}, false
	}
	now := b.cfg.Clock()
	until := now + int64(wait+rand.N(2*time.Second))
	for {
		old := b.until.Load()
		if until <= old {
			return time.Time{}, false
		}
		if !b.until.CompareAndSwap(old, until) {
			continue
		}
		b.limited.Store(true)
		b.forget(until)
		opens = b.cfg.Now().Add(time.Duration(until - now))
		if old <= now {
			b.cfg.Logger.Warn("rate limited", "until", opens, "why", why)
		}
		return opens, true
	}
}

// Limits returns when each closed bucket opens, by name; "" stands for the gate. It returns nil if
// none is closed.
func (b *Budget) Limits() map[string]time.Time {
	closed := b.Buckets.Closed()
	if wait := b.Closed(b.cfg.Clock()); wait > 0 {
		closed[""] = b.cfg.Now().Add(wait)
	}
	if len(closed) == 0 {
		return nil
	}
	return closed
}

// Works records that a call returned a page. It logs the first page after the gate was
// closed.
func (b *Budget) Works() {
	if b.limited.Load() && b.Closed(b.cfg.Clock()) <= 0 && b.limited.Swap(false) {
		b.cfg.Logger.Info("rate limit is over")
	}
}
