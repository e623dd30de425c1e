package main

import (
	"context"
	"slices"
	"time"
)

// rest lets a process finish: until every post is visible, every account was read
// after that, and no delivery is open. Then it stops, and everything is checked.
func (r *round) rest(ctx context.Context) error {
	f := finishing{round: r}
	if err := r.live(ctx, plan{point: point{when: stopping}}, f.done); err != nil || len(r.found) > 0 {
		return err
	}
	if err := r.look(ctx, true); err != nil {
		return err
	}
	for _, b := range r.customers.backups {
		r.checkBackup(ctx, b)
	}
	r.tally.backups += len(r.customers.backups)
	r.tally.add(r.last)
	return nil
}

// checkBackup checks that a confirmed backup can be read, is undamaged, and has the
// monitors that were there.
func (r *round) checkBackup(ctx context.Context, b backup) {
	s, err := readSQLite(ctx, b.path, time.Time{})
	if err != nil || s.Damage != "" {
		r.violated("backup", "%s cannot be read: %v %s", b.path, err, s.Damage)
		return
	}
	for _, id := range b.has {
		if !slices.ContainsFunc(s.Monitors, func(w watch) bool { return w.ID == id }) {
			r.violated("backup", "%s lacks monitor %s", b.path, id)
		}
	}
}

// finishing is how far a resting process has come.
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
	closing                // a ledger write gives back what has expired
	finished
)

func (s stage) String() string {
	return [...]string{"posts to become visible", "accounts to be read again", "deliveries to end", "the ledger", "nothing"}[s]
}

// mendedAfter is how long a process takes at most to remove what others left half
// done when they died: it looks twice, claimLasts apart.
const mendedAfter = 3 * claimLasts

// How many good polls and quiet answers it takes: more than one, so that an answer
// that was wrong or too early does not end the rest.
const (
	readOften  = 5
	quietOften = 3
)

// done takes one step, if one can be taken.
func (f *finishing) done() bool {
	if f.visible.IsZero() { // it has just polled for the first time: its start is not part of the wait
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
			f.rested = time.Now()
			f.customers.append(rich, 1)
			f.customers.append(poor, 1)
			f.stage++
			break
		}
		f.customers.ask(op{Do: doAsk}, func(r reply) {
			if f.quiet++; r.Open {
				f.quiet = 0
			}
		})
	case closing:
		f.stage++
	}
	return f.stage == finished
}
