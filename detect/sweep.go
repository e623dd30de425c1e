package detect

import (
	"context"
	"time"
)

// sweepMost is how many polls are begun by one reading of the clocks: well
// within 0.1 ms.
const sweepMost = 16

// room is how many calls may be begun now.
func (sh *shard) room() int {
	return min(sh.slots-sh.workers.busy, maxOpen-len(sh.flights)-len(sh.searches.polling))
}

// sweep begins the polls of the targets that are due first, each in a call of its
// own, where nothing else is due and no budget asks whose turn it is.
func (sh *shard) sweep(ctx context.Context, now int64) {
	sh.takeDue(now, min(sh.room(), sweepMost))
	sh.readAhead()
	sh.starved += len(sh.taken) - 1 // the first is counted
	for _, next := range sh.taken {
		if sh.targets.at(next.Slot).state != idle { // its gap is being read
			sh.postpone(next.Slot, now)
			continue
		}
		sh.d.count.lag.Record(time.Duration(now - next.At))
		sh.depart(job{ctx: ctx, one: sh.newFlight(next.Slot, next.At)})
	}
}

// takeDue takes out the targets that are due, at most so many.
func (sh *shard) takeDue(now int64, most int) {
	sh.taken = sh.taken[:0]
	for len(sh.taken) < most {
		due, ok := sh.sched.Next(now, false)
		if !ok {
			break
		}
		sh.taken = append(sh.taken, due)
	}
}

// readAhead reads what the polls of those taken need, which lies anywhere in
// memory. Here the processor waits for several at a time; else it would wait for
// one after the other, and longer than all the rest of a poll takes.
func (sh *shard) readAhead() {
	for _, next := range sh.taken {
		sh.ahead += int(sh.targets.at(next.Slot).name)
	}
	for _, next := range sh.taken {
		sh.ahead += len(sh.username(next.Slot)) + sh.windows.At(int(next.Slot)).Len()
	}
}
