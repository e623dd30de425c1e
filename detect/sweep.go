package detect

import "context"

// sweepMost is how many polls are begun by one reading of the clocks: well
// within 0.1 ms.
const sweepMost = 16

// room is how many calls may be begun now.
func (sh *shard) room() int { return min(sh.slots-sh.workers.Busy(), maxOpen-sh.open()) }

// sweep begins the polls of the accounts that are due first, each in a call of its
// own, where nothing else is due and no budget asks whose turn it is.
func (sh *shard) sweep(ctx context.Context) {
	most := min(sh.room(), sweepMost)
	sh.taken = sh.taken[:0]
	for len(sh.taken) < most {
		due, ok := sh.accounts.Sched.Next(sh.times.Now, false)
		if !ok {
			break
		}
		sh.taken = append(sh.taken, due)
	}
	sh.readAhead()
	sh.accounts.Polls.Starve(len(sh.taken) - 1) // the first is counted
	for _, next := range sh.taken {
		if p := sh.start(next); p != nil {
			sh.read(ctx, p)
		}
	}
}

// readAhead reads what the polls of those taken need, which lies anywhere in
// memory. Here the processor waits for several at a time; else it would wait for
// one after the other, and longer than all the rest of a poll takes.
func (sh *shard) readAhead() {
	table := sh.accounts.Table
	for _, next := range sh.taken {
		sh.ahead += int(table.At(next.Slot).Since)
	}
	for _, next := range sh.taken {
		w := table.Shown.Window(next.Slot)
		sh.ahead += len(table.Username(next.Slot)) + w.Len()
	}
}
