package main

import "time"

// finishing is the progress of nodes that rest at the end of a round: every post becomes visible,
// then every account is read, then gaps are filled and all deliveries end.
type finishing struct {
	*round
	visible time.Time // time when every post is visible
	stage   stage
	quiet   int // number of consecutive answers that no delivery or gap is open
}

type stage int

const (
	appearing stage = iota // posts become visible
	reading                // each account is read after that
	sending                // gaps are filled, deliveries end
	finished
)

// The number of complete polls, and of quiet answers, after which the rest ends. It is more than
// one, because a single answer may be wrong or too early.
const (
	readOften  = 5
	quietOften = 3
)

// done takes one step, if one can be taken.
func (f *finishing) done() bool {
	if f.visible.IsZero() { // nodes are up now: the wait does not include their starts
		f.visible = time.Now().Add(lateUpTo)
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
