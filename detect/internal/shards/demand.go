package shards

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
)

// demand is the sum of the demand of a shard's accounts. It is computed again when Demand is
// called.
type demand struct {
	bits  atomic.Uint64 // bits of a float64: the last sum
	begun atomic.Int64  // when it was started, on the detector's clock; 0 for never
}

const (
	demandEvery = int64(time.Second)
	demandSlots = 4096 // slots added up at a time; few, because polls wait
)

// ByInterval returns the demand of an account when intervals set the pace: polls per second.
// ByBudget returns it under a budget: √(weight × post rate).
func ByInterval(sh *Shard, slot int32) float64 {
	if every := sh.Accounts.Interval(slot); every > 0 {
		return 1 / every.Seconds()
	}
	return 0
}

func ByBudget(sh *Shard, slot int32) float64 {
	rate := sh.Accounts.PostRate(slot)
	if rate <= 0 {
		rate = accounts.UnknownRate
	}
	return math.Sqrt(sh.Accounts.Ask(slot).Weight * rate)
}

// Demand returns the sum of of(sh, slot) over all accounts; 0 before the first sum is ready. The
// sum may be a second old, plus the time for adding up.
func (sh *Shard) Demand(of func(sh *Shard, slot int32) float64) float64 {
	d, now := &sh.demand, max(1, sh.env.Clock())
	if begun := d.begun.Load(); (begun == 0 || now-begun >= demandEvery) && d.begun.CompareAndSwap(begun, now) {
		sh.Tell(func(sh *Shard) { sh.addUp(of, 0, 0) })
	}
	return math.Float64frombits(d.bits.Load())
}

// addUp adds the demand of the accounts in slots from from on to sum.
func (sh *Shard) addUp(of func(sh *Shard, slot int32) float64, from int32, sum float64) {
	size := sh.Accounts.Size()
	to := min(from+demandSlots, size)
	for slot := from; slot < to; slot++ {
		if sh.Accounts.At(slot).Watched {
			sum += of(sh, slot)
		}
	}
	if to < size {
		sh.Tell(func(sh *Shard) { sh.addUp(of, to, sum) })
		return
	}
	sh.demand.bits.Store(math.Float64bits(sum))
}
