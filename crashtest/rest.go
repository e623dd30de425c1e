package main

import "time"

// finishing is how far resting nodes have come: until every post is visible, every
// account was read after that, and no delivery is open.
type finishing struct {
	*round
	visible time.Time // when every post is visible, and leftovers are cleaned up
	stage   stage
	quiet   int // answers in a row that no delivery is open
}

type stage int

const (
	appearing stage = iota // posts become visible, and leftovers are cleaned up
	reading                // each account is read after that
	sending                // deliveries end
	finished
)

// mendedAfter is how long a process takes at most to remove what others left half
// done when they died: it looks twice, claimLasts apart.
const mendedAfter = 3 * claimLasts

// How many good polls and quiet answers it takes: more than one, so an answer that was
// wrong or too early does not end the rest.
const (
	readOften  = 5
	quietOften = 3
)

// done takes one step, if one can be taken.
func (f *finishing) done() bool {
	if f.visible.IsZero() { // nodes are up: their starts are not part of the wait
		f.visible = time.Now().Add(max(lateUpTo, mendedAfter))
	}
	if !f.customers.idle() {
		return false
	}
	switch f.stage {
	case appearing:
		if time.Now().After(f.visible) {
			f.world.watchPolls()
			f.stage++
		}
	case reading:
		if f.world.polled(readOften) {
			f.stage++
		}
	case sending:
		if f.quiet >= quietOften {
			f.stage = finished
			break
		}
		f.customers.ask(op{Do: doAsk}, func(r reply) {
			if f.quiet++; r.Open {
				f.quiet = 0
			}
		})
	}
	return f.stage == finished
}
