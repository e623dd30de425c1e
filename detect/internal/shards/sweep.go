package shards

import "context"

// sweepMost is how many polls may begin by one reading of the clocks. Beginning them takes
// well below 0.1 ms.
const sweepMost = 16

// room returns how many calls may begin now.
func (sh *Shard) room() int { return min(sh.cfg.Slots-sh.workers.Busy(), maxOpen-sh.open()) }

// sweep begins the polls of the accounts that are due first, each with a call of its own.
// It is called when nothing else is due and the number of calls has no bound.
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
	sh.readAhead()
	sh.Accounts.Polls.Starve(len(sh.taken) - 1) // the first is counted
	for _, next := range sh.taken {
		if p := sh.start(next); p != nil {
			sh.read(ctx, p)
		}
	}
}

// readAhead touches the state of the accounts taken, which is scattered over memory.
// In this loop the processor waits for several cache misses at a time; otherwise it
// would wait for one after the other, longer than the rest of a poll takes.
func (sh *Shard) readAhead() {
	table := sh.Accounts.Table
	for _, next := range sh.taken {
		sh.ahead += int(table.At(next.Slot).Since)
	}
	for _, next := range sh.taken {
		w := table.Shown.Window(next.Slot)
		sh.ahead += len(table.Username(next.Slot)) + w.Len()
	}
}
