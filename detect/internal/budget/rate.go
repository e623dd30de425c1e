package budget

import (
	"math"
)

// never is a time after all others. It is small enough for additions.
const never = int64(1 << 62)

// Rate returns how many calls may be made per second. 0 means none if Bounded returns true,
// otherwise no limit.
func (b *Budget) Rate() float64 { return math.Float64frombits(b.rate.Load()) }

// Changes returns how often Rate has changed. Give back a ticket that was taken before the last
// change: its call may be due much too late.
func (b *Budget) Changes() uint64 { return b.changes.Load() }

// SetRate sets how many calls may be made per second; 0 means none. The burst (at least 1)
// and the limit of Spend change in proportion. Without a limit on calls it does nothing.
func (b *Budget) SetRate(perSecond float64) {
	if !b.Bounded() || perSecond == b.Rate() {
		return
	}
	share := perSecond / b.cfg.PerSecond
	if perSecond > 0 {
		b.Spend.SetShare(share)
	}
	b.mu.Lock()
	b.bucket.advance(b.cfg.Clock())
	b.bucket.rate, b.bucket.burst, b.bucket.saved = perSecond, max(1, float64(b.cfg.Burst)*share), b.saved*share
	b.bucket.tokens += float64(len(b.spare))
	b.spare = nil
	b.rate.Store(math.Float64bits(perSecond))
	b.changes.Add(1)
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
	b.cfg.Ring()
}

// Slack returns 10 ms' worth of calls, at least 1. Timers are late by some milliseconds, and this
// must not cost calls.
func Slack(perSecond float64) int { return max(1, int(perSecond/100)) }

// LostFrom returns a function. Its result is the time from which unused calls are lost, because no
// more can be saved. LostFrom returns nil if no calls can be saved.
func (b *Budget) LostFrom() func(now int64) int64 {
	if b.saved == 0 || b.cfg.Shared {
		return nil
	}
	return b.lostFrom
}

func (b *Budget) lostFrom(now int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Rate() == 0 {
		return never
	}
	b.bucket.advance(now)
	if b.bucket.last < b.bucket.savesFrom {
		return now
	}
	short := b.bucket.saved - b.bucket.tokens - float64(len(b.spare))
	return b.bucket.last + int64(min(max(0, short)/b.bucket.rate*1e9, float64(never/2)))
}

// forget drops the saved calls, and saves none before until. A platform that has just refused calls
// should not get many of them in a burst.
func (b *Budget) forget(until int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bucket.tokens += float64(len(b.spare))
	b.spare = nil
	b.bucket.savesFrom = max(b.bucket.savesFrom, until)
	b.bucket.advance(b.cfg.Clock())
}

// change returns how often the rate has changed, and a channel that the next change closes.
func (b *Budget) change() (n uint64, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes.Load(), b.changed
}

// bucket is a token bucket that may go below 0.
type bucket struct {
	rate      float64 // tokens per second
	burst     float64
	saved     float64 // how many tokens of burst may be saved calls
	savesFrom int64   // no calls are saved before this time
	tokens    float64 // below 0 after giving out tickets for later
	last      int64   // time to which tokens applies
}

// take takes a token and returns when it is available.
func (b *bucket) take(now int64) int64 {
	b.advance(now)
	b.tokens--
	if b.tokens >= 0 {
		return now
	}
	return now + int64(min(-b.tokens/b.rate*1e9, float64(never/2)))
}

// advance fills the bucket up to the time now.
func (b *bucket) advance(now int64) {
	if b.last < b.savesFrom {
		b.fill(min(now, b.savesFrom), max(1, b.burst-b.saved))
	}
	b.fill(now, b.burst)
}

func (b *bucket) fill(now int64, most float64) {
	if now >= b.last {
		b.tokens = min(most, b.tokens+float64(now-b.last)/1e9*b.rate)
		b.last = now
	}
}
