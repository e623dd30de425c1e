package shards

import "context"

// sweepMost is how many polls may begin for one reading of the clocks. Beginning them takes well
// below 0.1 ms.
const sweepMost = 16

// room returns how many calls may begin now.
func (sh *Shard) room() int { return min(sh.cfg.Slots-sh.workers.Busy(), maxOpen-sh.open()) }

// sweep begins the polls of the accounts that are due first, each with its own call. It is used
// when nothing else is due and no limit on the number of calls is set.
func (sh *Shard) sweep(ctx context.Context) {
	most := min(sh.room(), sweepMost)
	sh.taken = sh.taken[:0]
	for len(sh.taken) < most {
		due, ok := sh.Accounts.Sched.Next(sh.times.Now, false)
		if !ok {
			break
		}
		sh.taken = append(sh.taken, due)
	}
	sh.ahead += sh.Accounts.ReadAhead(sh.taken)
	sh.Accounts.Polls.Starve(len(sh.taken) - 1) // the first is counted already
	for _, next := range sh.taken {
		if p := sh.start(next); p != nil {
			sh.read(ctx, p)
		}
	}
}
