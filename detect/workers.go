package detect

import (
	"context"
	"sync"
)

// workers make a shard's upstream calls. They are started as they are needed,
// at most one for each slot, and stay: their stacks have grown to what a
// Fetcher takes. The shard joins them at its end.
type workers struct {
	work chan job
	n    int // started
	busy int // jobs given and not ended, as the shard knows
	all  sync.WaitGroup
}

// job is one upstream call.
type job struct {
	ctx    context.Context
	group  []*flight // to be made together; nil for
	one    *flight
	search *search // in place of both
}

func newWorkers(slots int) workers { return workers{work: make(chan job, slots)} }

// give never blocks: the shard keeps to its slots.
func (w *workers) give(sh *shard, j job) {
	if w.busy++; w.busy > w.n {
		w.n++
		w.all.Go(func() {
			for j := range w.work {
				switch {
				case j.one != nil:
					sh.fly(j.ctx, j.one)
				case j.search != nil:
					sh.flySearch(j.ctx, j.search)
				default:
					sh.flyTogether(j.ctx, j.group)
				}
			}
		})
	}
	w.work <- j
}

// join ends the workers once they have nothing to do.
func (w *workers) join() {
	close(w.work)
	w.all.Wait()
}
