package budget

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// never is a time that does not come, with room for sums.
const never = int64(1 << 62)

// Rate is how many calls a second may be made, 0 for no bound or, where Bounded, for none.
func (b *Budget) Rate() float64 { return math.Float64frombits(b.rate.Load()) }

// Changes counts the calls of SetRate. A ticket from before the last one is void.
func (b *Budget) Changes() uint64 { return b.changes.Load() }

// SetRate changes how many calls a second may be made, where they are bounded: 0 is none.
// The burst changes in proportion, and is at least 1; so does the limit of Spend.
func (b *Budget) SetRate(perSecond float64) {
	if b.limiter == nil || perSecond == b.Rate() {
		return
	}
	b.mu.Lock()
	now, share := b.cfg.Epoch.Add(time.Duration(b.cfg.Clock())), perSecond/b.cfg.PerSecond
	b.limiter.SetLimitAt(now, rate.Limit(perSecond))
	b.limiter.SetBurstAt(now, max(1, int(math.Round(float64(b.cfg.Burst)*share))))
	b.spare = nil
	b.rate.Store(math.Float64bits(perSecond))
	b.changes.Add(1)
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
	if perSecond > 0 && b.Spend.SetShare(share) {
		b.until.Store(0)
	}
	b.cfg.Ring()
}

// change is how often the rate has changed, and a channel that is closed when it does
// again.
func (b *Budget) change() (n uint64, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes.Load(), b.changed
}
