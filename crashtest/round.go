package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"
)

// round is the life of a store, from its first opening over many kills to a rest.
type round struct {
	*run
	seed      uint64
	dir       string
	retaining bool

	world     *world
	customers *customers
	backend   backend
	lived     int                  // processes so far
	cursors   map[string]time.Time // as they were after the last kill, by target
	ends      map[string]ending    // how deliveries had ended after the kills so far, by id
	rested    time.Time
	found     []violation
}

// errStopped ends a run early, when its context has ended.
var errStopped = errors.New("crashtest: stopped")

// play runs a round with so many kills, and returns the violations. The error is one
// of the harness itself.
func (r *round) play(ctx context.Context, kills int) (err error) {
	if r.dir, err = os.MkdirTemp(r.options.dir, "crashtest"); err != nil {
		return err
	}
	if r.backend, err = newBackend(r.kind, r.dir, r.retaining); err != nil {
		return err
	}
	if r.world, err = newWorld(r.seed); err != nil {
		return errors.Join(err, r.backend.close())
	}
	r.ends = make(map[string]ending)
	r.customers = newCustomers(r.seed, r.world.receiverURL, r.backend.backups())
	err = r.lives(ctx, kills)
	r.world.close()
	err = errors.Join(err, r.backend.close())
	if len(r.found) == 0 {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

func (r *round) lives(ctx context.Context, kills int) error {
	for range min(2, kills) {
		if !r.chooser.opens() {
			break
		}
		p := r.chooser.next(true, r.retaining)
		if p.point.name == "" {
			continue
		}
		kills--
		if err := r.live(ctx, p, nil); err != nil || len(r.found) > 0 {
			return err
		}
	}
	r.customers.settle(r.world.names)
	if err := r.live(ctx, plan{after: soonest}, r.customers.idle); err != nil || len(r.found) > 0 {
		return err
	}
	stop := r.posting(ctx)
	for kill := 1; kill < kills && len(r.found) == 0; kill++ {
		if err := r.live(ctx, r.chooser.next(false, r.retaining), nil); err != nil {
			stop()
			return err
		}
	}
	stop()
	if len(r.found) > 0 {
		return nil
	}
	return r.rest(ctx)
}

// posting has people post until stop.
func (r *round) posting(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var posting sync.WaitGroup
	posting.Go(func() { r.world.post(ctx, r.seed) })
	return func() {
		cancel()
		posting.Wait()
	}
}

// ended counts how a life ended, and checks what it left.
func (r *round) ended(ctx context.Context, proc *process, p plan) error {
	how := proc.wait()
	r.customers.orphaned(func(int) bool { return true })
	if polled, ok := r.world.firstPoll(r.lived); ok {
		took := polled.Sub(proc.started)
		r.tally.firstPolls = append(r.tally.firstPolls, took)
		if took > startsWithin {
			r.violated("I7", "process %d polled first %s after its start, want at most %s", r.lived, took, startsWithin)
		}
	}
	switch {
	case ctx.Err() != nil:
		return errStopped
	case how.signaled && !proc.killed && p.point.name == "":
		r.violated("process", "process %d was killed by somebody else", r.lived)
		return nil
	case how.signaled && !proc.killed:
		r.tally.kills++
		r.chooser.hits[p.point.name]++
	case how.signaled:
		r.tally.kills++
	case how.trouble != "":
		r.violated("process", "process %d ended by itself: %s", r.lived, how.trouble)
		return nil
	}
	return r.look(ctx, false)
}

// look checks what the store holds now.
func (r *round) look(ctx context.Context, resting bool) error {
	return r.lookAt(ctx, resting, func(*state) {})
}

// lookAt is look, after note was called with what the store holds.
func (r *round) lookAt(ctx context.Context, resting bool, note func(*state)) error {
	s, err := r.backend.read(ctx)
	if err != nil {
		s.Damage = fmt.Sprintf("it cannot be read: %v", err)
	}
	note(&s)
	o := &outcome{Shown: r.world.shown(), Customers: r.customers.facts, State: s, Retaining: r.retaining, Rested: r.rested, Life: r.lived, Shared: r.fleet > 0}
	r.world.receiver.seen(o)
	check := checkMoment
	if resting {
		check = checkRest
	}
	r.found = append(r.found, check(o)...)
	if s.Damage == "" {
		r.found = append(r.found, cursorsBack(r.cursors, s.Cursors, r.customers.facts.joined)...)
		clear(r.customers.facts.joined)
		r.cursors = maps.Clone(s.Cursors)
		r.found = append(r.found, sentAfter(r.ends, o, resting)...)
	}
	r.last = o
	return nil
}

func (r *round) violated(invariant, format string, args ...any) {
	r.found = append(r.found, violation{invariant, fmt.Sprintf(format, args...)})
}
