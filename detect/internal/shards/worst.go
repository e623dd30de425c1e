package shards

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
)

// Order is the figure by which Worst sorts accounts: see detect.WorstBy.
type Order uint8

const (
	Failing Order = iota
	Silent
	Gaps
	Slow
)

// Query selects the accounts that Worst returns: see detect.WorstQuery.
type Query struct {
	By    Order
	Limit int
	// Sees reports whether accounts with sources of an owner are included.
	Sees func(owner string) bool
}

// leastMissing is how many posts must be missing for an account to count as silent. By chance, that
// many are missing in one case of 20.
const leastMissing = 3

// Missing returns how many posts are expected since an account's last post, given its rate. It
// returns 0 while either is unknown.
func Missing(a *accounts.Targets, slot int32, now time.Time) float64 {
	last := a.Status(slot).Post
	if last.IsZero() {
		return 0
	}
	return max(0, a.PostRate(slot)*now.Sub(last).Seconds())
}

// Delays returns the mean delays of the accounts with remembered polls, by slot.
func Delays(a *accounts.Targets) map[int32]time.Duration {
	of := map[int32]time.Duration{}
	a.Polls.Memory.Delays(func(slot int32, hash uint64, mean time.Duration) {
		if slot < a.Size() && a.At(slot).Watched && a.Hash(slot) == hash {
			of[slot] = mean
		}
	})
	return of
}

// ranked is an account and its rank. Ranks are above 0; a higher rank is worse.
type ranked struct {
	slot int32
	rank float64
}

// Worst returns the statuses of the worst accounts, the worst first. It calls status on the shard's
// goroutine. A shard examines few accounts at a time, because polls wait meanwhile.
func Worst[T any](ctx context.Context, all []*Shard, q Query, status func(a *accounts.Targets, slot int32, rank float64) T) (list []T, err error) {
	type made struct {
		status T
		rank   float64
	}
	var worst []made
	for _, sh := range all {
		var found []ranked
		for from := int32(0); from >= 0; {
			next := make(chan int32, 1) // a new channel for each call: after an error the shard may still use it
			if err := sh.Ask(ctx, func(sh *Shard) { next <- ranking{sh, &q}.rank(&found, from) }); err != nil {
				return nil, err
			}
			from = <-next
			slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(b.rank, a.rank) })
			found = found[:min(len(found), q.Limit)]
		}
		mine := make(chan []made, 1)
		err := sh.Ask(ctx, func(sh *Shard) {
			var of []made
			for _, r := range found {
				if (ranking{sh, &q}).sees(r.slot) { // the slot may have another account by now
					of = append(of, made{status(sh.Accounts, r.slot, r.rank), r.rank})
				}
			}
			mine <- of
		})
		if err != nil {
			return nil, err
		}
		worst = append(worst, <-mine...)
	}
	slices.SortStableFunc(worst, func(a, b made) int { return cmp.Compare(b.rank, a.rank) })
	for _, m := range worst[:min(len(worst), q.Limit)] {
		list = append(list, m.status)
	}
	return list, nil
}

// ranking ranks the accounts of a shard, on its goroutine.
type ranking struct {
	sh *Shard
	q  *Query
}

// rank ranks some accounts, from a slot on, and adds them to found. It returns the slot to continue
// from, -1 at the end.
func (r ranking) rank(found *[]ranked, from int32) int32 {
	a := r.sh.Accounts
	if r.q.By == Slow {
		for slot, mean := range Delays(a) {
			if mean > 0 && r.sees(slot) {
				*found = append(*found, ranked{slot, mean.Seconds()})
			}
		}
		return -1
	}
	to := min(from+demandSlots, a.Size())
	for slot := from; slot < to; slot++ {
		if !a.At(slot).Watched {
			continue
		}
		if rank := r.of(slot); rank > 0 && r.sees(slot) {
			*found = append(*found, ranked{slot, rank})
		}
	}
	if to == a.Size() {
		return -1
	}
	return to
}

// of returns the rank of an account, for any Order but Slow. A rank of 0 leaves the account out.
func (r ranking) of(slot int32) float64 {
	a := r.sh.Accounts
	switch r.q.By {
	case Failing:
		return float64(a.At(slot).Failures())
	case Gaps:
		return float64(len(a.At(slot).Gaps()))
	}
	if missing := Missing(a, slot, r.sh.times.Wall); missing >= leastMissing && !math.IsInf(missing, 0) {
		return missing
	}
	return 0
}

// sees reports whether an account is included: see Query.Sees.
func (r ranking) sees(slot int32) bool {
	sources, _ := r.sh.Accounts.WantedBy(slot, r.q.Sees)
	return sources > 0
}
