package budget

import (
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Buckets are limits that hold for some of the calls, by name. A closed one closes
// nothing else. The methods are safe for concurrent use.
type Buckets struct {
	clock  func() int64
	now    func() time.Time
	logger *slog.Logger
	tell   func(bucket string, until time.Time)
	closed func(until int64)

	any   atomic.Bool // one may be closed
	mu    sync.Mutex
	until map[string]int64 // of those that are closed, on the clock
}

// newBuckets returns Buckets of which none is closed.
func newBuckets(cfg Config) *Buckets {
	return &Buckets{clock: cfg.Clock, now: cfg.Now, logger: cfg.Logger, tell: cfg.Limited, until: map[string]int64{}}
}

// CloseFor closes a bucket for a time, at most MaxClosed. It never opens earlier than an
// earlier call has said.
func (b *Buckets) CloseFor(name string, wait time.Duration, why string) {
	if until, ok := b.close(name, wait, why); ok {
		b.tell(name, until)
	}
}

// Close is CloseFor for what another process has met: Limited is not told.
func (b *Buckets) Close(name string, wait time.Duration, why string) { b.close(name, wait, why) }

// close closes a bucket and returns when it opens; ok is false if it was closed for longer
// already.
func (b *Buckets) close(name string, wait time.Duration, why string) (opens time.Time, ok bool) {
	if wait <= 0 {
		return time.Time{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	until := now + int64(min(wait, MaxClosed)+rand.N(2*time.Second))
	old := b.until[name]
	if until <= old {
		return time.Time{}, false
	}
	b.until[name] = until
	b.any.Store(true)
	b.closed(until)
	opens = b.now().Add(time.Duration(until - now))
	if old <= now {
		b.logger.Warn("rate limited", "bucket", name, "until", opens, "why", why)
	}
	return opens, true
}

// Any reports whether a bucket may be closed.
func (b *Buckets) Any() bool { return b.any.Load() }

// Until returns when a bucket opens, 0 for one that is open.
func (b *Buckets) Until(name string) int64 {
	if !b.Any() {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	until, closed := b.until[name]
	if !closed || until > b.clock() {
		return until
	}
	delete(b.until, name)
	if len(b.until) == 0 {
		b.any.Store(false)
	}
	return 0
}

// Closed returns when each of the closed buckets opens, by name.
func (b *Buckets) Closed() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, wall := b.clock(), b.now()
	maps.DeleteFunc(b.until, func(_ string, until int64) bool { return until <= now })
	closed := make(map[string]time.Time, len(b.until))
	for name, until := range b.until {
		closed[name] = wall.Add(time.Duration(until - now))
	}
	return closed
}
