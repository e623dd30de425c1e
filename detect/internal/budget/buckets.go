package budget

import (
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Buckets are named limits, each on some of the calls. Closing one bucket affects no other. The
// methods are safe for concurrent use.
type Buckets struct {
	clock  func() int64
	now    func() time.Time
	logger *slog.Logger
	tell   func(bucket string, until time.Time)
	closed func(until int64)

	any     atomic.Bool // whether a bucket may be closed
	failing atomic.Bool // whether failed is not empty
	mu      sync.Mutex
	until   map[string]int64  // when each closed bucket opens, on the clock
	failed  map[string]failed // "" is the gate
}

// failed counts the refusals of a bucket without Retry-After since a call succeeded.
type failed struct {
	count int
	at    int64 // of the last one
}

// forgetFailed is after how long without calls the refusals of a bucket are forgotten. It is longer
// than MaxClosed.
const forgetFailed = time.Hour

// newBuckets returns Buckets that are all open.
func newBuckets(cfg Config) *Buckets {
	return &Buckets{clock: cfg.Clock, now: cfg.Now, logger: cfg.Logger, tell: cfg.Limited, until: map[string]int64{}, failed: map[string]failed{}}
}

// CloseFor closes a bucket for the given time, at most MaxClosed, and calls Limited. If an earlier
// call closed the bucket for longer, it stays closed for that time.
func (b *Buckets) CloseFor(name string, wait time.Duration, why string) {
	if until, ok := b.close(name, wait, why); ok {
		b.tell(name, until)
	}
}

// Close is CloseFor for a limit that another process has met. It does not call Limited.
func (b *Buckets) Close(name string, wait time.Duration, why string) { b.close(name, wait, why) }

// close closes a bucket and returns when it opens. ok is false if the bucket was already closed for
// longer.
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

// refused counts a refusal of a call that was made at begun. ok is false if the call was made before
// the last refusal: it was one of several calls under way then.
func (b *Buckets) refused(name string, begun int64) (count int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	maps.DeleteFunc(b.failed, func(_ string, f failed) bool { return now-f.at > int64(forgetFailed) })
	f := b.failed[name]
	if f.count > 0 && begun <= f.at {
		return 0, false
	}
	b.failed[name] = failed{f.count + 1, now}
	b.failing.Store(true)
	return f.count + 1, true
}

// Failing reports whether Succeeded has something to do.
func (b *Buckets) Failing() bool { return b.failing.Load() }

// Succeeded records that a call of a bucket has succeeded: see Budget.Refused.
func (b *Buckets) Succeeded(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failed, name)
	delete(b.failed, "")
	b.failing.Store(len(b.failed) > 0)
}

// Any reports whether a bucket may be closed.
func (b *Buckets) Any() bool { return b.any.Load() }

// Until returns when a bucket opens, 0 if it is open.
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

// Closed returns when each closed bucket opens, by name.
func (b *Buckets) Closed() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, wall := b.clock(), b.now()
	maps.DeleteFunc(b.until, func(_ string, until int64) bool { return until <= now })
	b.any.Store(len(b.until) > 0)
	closed := make(map[string]time.Time, len(b.until))
	for name, until := range b.until {
		closed[name] = wall.Add(time.Duration(until - now))
	}
	return closed
}
