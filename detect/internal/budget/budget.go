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

// Budget bounds the upstream calls of one Fetcher by a token bucket, and by a gate that
// a rate limit closes. All shards share it; it is safe for concurrent use. Times are
// nanoseconds of the detector's clock.
type Budget struct {
	// Buckets are the limits that hold for some of the calls.
	Buckets *Buckets
	// Spend counts what the platform charges.
	Spend *spend.Spend

	cfg     Config
	saved   float64      // how many calls may be saved at Config.PerSecond, 0 for none
	until   atomic.Int64 // when the gate opens that a rate limit has closed; Spend may keep it closed
	limited atomic.Bool  // the gate was closed, and no page has come since

	rate    atomic.Uint64 // bits of a float64: calls a second, as set by SetRate
	changes atomic.Uint64 // of rate: see Changes

	reading atomic.Int64 // polls that wait to read on: see WaitPage

	mu      sync.Mutex
	bucket  bucket
	spare   []int64       // tickets that were given back, earliest first
	changed chan struct{} // closed when rate changes
}

// MaxClosed is the longest time for which a rate limit closes the gate.
const MaxClosed = 15 * time.Minute

// Config sets up a Budget.
type Config struct {
	PerSecond float64 // 0 for no bound
	Burst     int     // calls that may be made at once after a lull
	// Saves has the calls of Burst beyond Slack wait for polls that are due: see LostFrom.
	// None are saved to begin with, nor before the gate or a bucket that a rate limit has
	// closed is open again.
	Saves bool
	// Shared has others make all calls that polls leave: LostFrom is nil.
	Shared  bool
	Epoch   time.Time
	Clock   func() int64 // since Epoch
	Now     func() time.Time
	Stop    <-chan struct{} // closed to end all waiting
	Stopped error           // with this
	Ring    func()          // wakes callers that wait because of Reading, or for a ticket at another rate
	// Limited is told when a rate limit has closed a bucket, "" for the gate. Nil is
	// nobody.
	Limited func(bucket string, until time.Time)
	// Spend's Now, Logger and Reached are the Budget's.
	Spend  spend.Config
	Logger *slog.Logger
}

// New makes a budget whose gate is open.
func New(cfg Config) *Budget {
	b := &Budget{changed: make(chan struct{})}
	if cfg.Limited == nil {
		cfg.Limited = func(string, time.Time) {}
	}
	b.cfg, b.Buckets = cfg, newBuckets(cfg)
	b.rate.Store(math.Float64bits(cfg.PerSecond))
	cfg.Spend.Now, cfg.Spend.Logger, cfg.Spend.Reached = cfg.Now, cfg.Logger, b.spent
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

// Bounded reports whether calls wait for tickets.
func (b *Budget) Bounded() bool { return b.cfg.PerSecond > 0 }

// Stopped is the error of waits that the detector's end cut short.
func (b *Budget) Stopped() error { return b.cfg.Stopped }

// Reading reports whether a poll waits to read on: see WaitPage.
func (b *Budget) Reading() bool { return b.reading.Load() > 0 }

// Closed returns for how long the gate stays closed, 0 or less when it is open. The limit of
// Spend ends by the wall clock, which may be set, or go on while the machine sleeps: whoever
// waits has to ask again after AskAgain at most.
func (b *Budget) Closed(now int64) time.Duration {
	return max(time.Duration(b.until.Load()-now), b.Spend.Wait())
}

// AskAgain is the longest wait for the gate before Closed is asked again.
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
	// A ticket that nobody used for longer than the bucket holds calls is void.
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

// GiveBack returns a ticket that was not used, for the next caller; changes is what
// Changes was before it was taken.
func (b *Budget) GiveBack(at int64, changes uint64) {
	if !b.Bounded() || at == never {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if changes != b.changes.Load() { // the ticket is of another rate
		b.bucket.tokens++
		return
	}
	i, _ := slices.BinarySearch(b.spare, at)
	b.spare = slices.Insert(b.spare, i, at)
}

// Wait takes one call out of the budget and waits until it may be made. It waits for
// the gate first and takes a ticket then, so that callers keep to the rate when the
// gate opens.
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
			continue // the gate has closed meanwhile, or the rate has changed
		}
		if err := b.pause(ctx, min(closed, AskAgain), changed); err != nil {
			return err
		}
	}
}

// WaitPage is Wait for a further page of a poll. No poll should begin meanwhile (see
// Reading): those that have begun are finished first.
func (b *Budget) WaitPage(ctx context.Context) error {
	b.reading.Add(1)
	defer func() {
		if b.reading.Add(-1) == 0 {
			b.cfg.Ring()
		}
	}()
	return b.Wait(ctx)
}

// pause waits, unless ctx ends or the detector stops, or until changed is closed.
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

// CloseFor closes the gate for a time, at most MaxClosed, and up to two seconds more,
// chosen at random, so that processes that share a limit do not come back at the
// same time. The gate never opens earlier than an earlier call has said. Closing an
// open gate is logged.
func (b *Budget) CloseFor(wait time.Duration, why string) {
	if until, ok := b.close(min(wait, MaxClosed), why); ok {
		b.cfg.Limited("", until)
	}
}

// Close is CloseFor for a limit that another process has met: it lasts however long it has
// to, and Limited is not told.
func (b *Budget) Close(wait time.Duration, why string) { b.close(wait, why) }

// spent notes that the limit of Spend has closed the gate for a time: it is Spend's Reached.
func (b *Budget) spent(wait time.Duration, why string) {
	b.limited.Store(true)
	b.cfg.Logger.Warn("rate limited", "until", b.cfg.Now().Add(wait), "why", why)
}

// close closes the gate and returns when it opens; ok is false if it was closed for longer
// already.
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

// Limits returns when each closed bucket opens, by name, and the gate, as ""; nil if none is
// closed.
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

// Works notes that a call brought a page, and logs the first one after the gate was
// closed.
func (b *Budget) Works() {
	if b.limited.Load() && b.Closed(b.cfg.Clock()) <= 0 && b.limited.Swap(false) {
		b.cfg.Logger.Info("rate limit is over")
	}
}
