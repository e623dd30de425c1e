package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// round is the life of a store: from its first opening, over many kills, to a rest of all nodes.
type round struct {
	*run
	seed uint64
	left map[fate]int // how often each is still to come
	rand *rand.Rand

	dir       string
	world     *world
	customers *customers
	backend   backend
	nodes     []*node
	said      chan said
	asked     map[int]*node // the node asked for an operation, by the operation's number
	phase     phase
	began     time.Time
	lived     int            // processes so far
	opened    bool           // one of them has come up
	ends      map[string]int // see check
	found     []violation
}

type phase int

const (
	settling   phase = iota // customers set up what a round begins with
	disturbing              // nodes are killed, paused and cut off, and customers ask for more
	resting                 // nodes finish what they have to do
	stopping                // they were asked to stop
)

// errStopped ends a run early, when its context has ended.
var errStopped = errors.New("crashtest: stopped")

func newRound(r *run, seed uint64, left map[fate]int) *round {
	return &round{run: r, seed: seed, left: left, rand: rand.New(rand.NewPCG(seed, 9)),
		said: make(chan said, 1024), asked: make(map[int]*node), began: time.Now(), ends: make(map[string]int)}
}

// play runs the round and stores the violations in found. It returns an error if the harness itself
// fails.
func (r *round) play(ctx context.Context) (err error) {
	if r.dir, err = os.MkdirTemp(r.options.dir, "crashtest"); err != nil {
		return err
	}
	if r.backend, err = newBackend(r.kind, r.dir); err != nil {
		return err
	}
	if r.world, err = newWorld(r.seed); err != nil {
		return errors.Join(err, r.backend.close())
	}
	r.customers = newCustomers(r.seed, r.world.receiverURL)
	for i := 0; i < max(1, r.fleet) && err == nil; i++ {
		n := &node{}
		if r.fleet > 0 {
			n.name = fmt.Sprintf("node-%d", i)
		}
		if r.cuts > 0 {
			n.proxy, err = newProxy(r.backend.config().Address)
		}
		r.nodes = append(r.nodes, n)
	}
	if err == nil {
		err = r.live(ctx)
	}
	for _, n := range r.nodes {
		if n.proxy != nil {
			n.proxy.close()
		}
	}
	r.world.close()
	err = errors.Join(err, r.backend.close())
	if len(r.found) == 0 {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

// live goes through the phases, until something is violated.
func (r *round) live(ctx context.Context) error {
	defer r.killAll()
	r.customers.settle(r.world.names)
	if err := r.loop(ctx, settling, r.customers.idle); err != nil {
		return err
	}
	stop := r.posting(ctx)
	err := r.loop(ctx, disturbing, r.disturbed)
	stop()
	if err != nil {
		return err
	}
	f := finishing{round: r}
	if err := r.loop(ctx, resting, f.done); err != nil {
		return err
	}
	for _, n := range r.nodes {
		n.ask(op{N: stopNumber, Do: doStop})
	}
	if err := r.loop(ctx, stopping, func() bool { return r.well(isDown) }); err != nil || len(r.found) > 0 {
		return err
	}
	o := r.look(ctx, true)
	r.tally.add(o)
	return nil
}

// loop serves customers and nodes until done returns true or a violation is found.
func (r *round) loop(ctx context.Context, p phase, done func() bool) error {
	if len(r.found) > 0 {
		return nil
	}
	r.phase = p
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return errStopped
		case s := <-r.said:
			r.heard(ctx, s)
		case now := <-tick.C:
			for _, n := range r.nodes {
				if err := r.next(n, now); err != nil {
					return err
				}
			}
			r.serve()
			if done() && len(r.found) == 0 {
				return nil
			}
			if p != disturbing && now.Sub(began) > r.patience {
				r.violated([]string{settling: "rest", resting: "rest", stopping: "process"}[p],
					"nodes have not finished after %s: %d operations wait for an answer and %d to be asked; %s", r.patience, len(r.customers.flight), len(r.customers.waiting), r.states())
			}
		}
		if len(r.found) > 0 {
			return nil
		}
	}
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

// serve sends a customer's next operation to a node that can answer.
func (r *round) serve() {
	var up []*node
	for _, n := range r.nodes {
		if n.state == isUp || n.state == isDoomed {
			up = append(up, n)
		}
	}
	if len(up) == 0 || r.phase == stopping {
		return
	}
	n := up[r.rand.IntN(len(up))]
	if r.phase == disturbing {
		r.customers.want(n.point.do)
		r.customers.want("")
	}
	if t := r.customers.next(); t != nil {
		r.asked[t.N] = n
		n.ask(t.op)
	}
}

// heard handles a line of a process, or its end.
func (r *round) heard(ctx context.Context, s said) {
	switch {
	case s.ended:
		r.ended(ctx, s.node)
	case s.Up && s.node.state == isStarting:
		s.node.state, s.node.fails, r.opened = isUp, 0, true
		s.node.due = time.Now().Add(s.node.after)
		if s.node.disturbed > 0 {
			s.node.suffers = time.Now().Add(s.node.disturbed)
		}
	case s.N > 0:
		delete(r.asked, s.N)
		r.customers.answered(s.reply)
	}
}

// look checks the current state of the store.
func (r *round) look(ctx context.Context, rest bool) *outcome {
	s, err := r.backend.read(ctx)
	if err != nil {
		s.Damage = fmt.Sprintf("it cannot be read: %v", err)
	}
	o := &outcome{Shown: r.world.shown(), Customers: r.customers.facts, State: s, Life: r.lived, Shared: r.fleet > 0}
	r.world.receiver.seen(o)
	r.found = append(r.found, check(o, r.ends, rest)...)
	return o
}

func (r *round) violated(invariant, format string, args ...any) {
	r.found = append(r.found, violation{invariant, fmt.Sprintf(format, args...)})
}
