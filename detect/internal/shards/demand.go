package shards

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
)

// demand is the sum of what a shard's accounts ask for. It is renewed on demand.
type demand struct {
	bits  atomic.Uint64 // of the last sum
	begun atomic.Int64  // when it was begun, on the detector's clock; 0 for never
}

const (
	demandEvery = int64(time.Second)
	demandSlots = 4096 // slots added up at a time, so that polls do not wait
)

// ByInterval and ByBudget return what an account asks for: polls a second where intervals
// set the pace, and where a budget does √(weight × rate of posts).
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

// Demand returns the sum of what of returns for each account; 0 before the first sum. It
// may be a second old, and the time that adding up takes.
func (sh *Shard) Demand(of func(sh *Shard, slot int32) float64) float64 {
	d, now := &sh.demand, max(1, sh.env.Clock())
	if begun := d.begun.Load(); (begun == 0 || now-begun >= demandEvery) && d.begun.CompareAndSwap(begun, now) {
		sh.Tell(func(sh *Shard) { sh.addUp(of, 0, 0) })
	}
	return math.Float64frombits(d.bits.Load())
}

// addUp adds to a sum what the accounts from a slot on ask for.
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
