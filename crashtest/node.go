package main

import (
	"context"
	"fmt"
	"time"
)

// startsWithin is the maximum time from the start of a process to its first poll (I7).
const startsWithin = 5 * time.Second

// stopNumber is the number of the request to stop.
const stopNumber = -1

// maxFails is how many starts of a node in a fleet may fail in a row.
const maxFails = 10

// node is an engine, alone or in a fleet. It runs one process after the other.
type node struct {
	name  string // in a fleet; "" for an engine without one
	proxy *proxy // between it and the store; nil in a run without cuts
	life  int
	proc  *process // nil while there is none
	plan
	state nodeState
	fails int       // how many starts in a row have failed
	due   time.Time // when its state is to change next
	// suffers is when to disturb the backend; zero for never.
	suffers time.Time
}

type nodeState int

const (
	isDown nodeState = iota
	isStarting
	isUp
	isPaused
	isCut
	isDoomed // it is to die at a named point
	isDying  // it was killed, or asked to stop
)

// fate is a way in which a node is disturbed.
type fate int

const (
	aKill fate = iota
	aPause
	aCut
)

// said is a line from a node's process, or tells that the process has ended.
type said struct {
	node *node
	reply
	ended bool
}

// ask sends an operation to the node's process, if there is one.
func (n *node) ask(o op) {
	if n.proc != nil {
		n.proc.ask(o)
	}
	if o.Do == doStop {
		n.state = isDying
	}
}

// upTo returns a random time of up to so many leases.
func (r *round) upTo(leases float64) time.Duration {
	return time.Duration(r.rand.Float64() * leases * float64(fleetLease))
}

// next makes the next change of a node's state if it is due.
func (r *round) next(n *node, now time.Time) error {
	if n.state == isUp && !n.suffers.IsZero() && now.After(n.suffers) {
		r.disturb(n)
	}
	if now.Before(n.due) {
		return nil
	}
	switch n.state {
	case isDown:
		if r.phase != stopping {
			return r.start(n)
		}
	case isStarting:
		r.giveUp(n, "I7", "has not started")
	case isPaused:
		n.proc.resume()
		n.state, n.due = isUp, now.Add(r.upTo(3))
	case isCut:
		n.proxy.heal()
		n.state, n.due = isUp, now.Add(r.upTo(3))
	case isUp:
		if f, ok := r.fate(n); ok {
			r.befall(n, f, now)
		}
	case isDoomed:
		r.kill(n)
	case isDying:
		if n.point.when == stopped && r.phase == disturbing {
			r.giveUp(n, "process", "has not stopped, and was killed")
		}
	}
	return nil
}

// start starts the node's next process. It plans how the process of an engine without a fleet ends.
// In a fleet, each disturbance of a node is drawn when it is due.
func (r *round) start(n *node) error {
	r.lived++
	n.life, n.plan, n.suffers = r.lived, plan{after: r.upTo(3)}, time.Time{}
	if r.fleet == 0 {
		n.plan = plan{}
		if r.phase == disturbing && r.left[aKill] > 0 || r.phase == settling && !r.opened {
			n.plan = r.chooser.next(!r.opened)
		}
		if r.phase == settling && n.point.when != opening {
			n.plan = plan{}
		}
	}
	store := r.backend.config()
	if n.proxy != nil {
		store.Address = n.proxy.addr()
	}
	proc, err := startProcess(childConfig{Life: n.life, Node: n.name, Platform: r.world.platformURL, Receiver: r.world.receiverURL,
		Store: store, Point: n.point.name, Skip: n.skip, Bug: r.bug})
	if err != nil {
		return err
	}
	r.tally.starts++
	n.proc, n.state, n.due = proc, isStarting, proc.started.Add(4*startsWithin)
	go func() {
		for rep := range proc.replies {
			r.said <- said{n, rep, false}
		}
		r.said <- said{node: n, ended: true}
	}()
	return nil
}

// fate draws the next disturbance of a node. ok is false if none is left.
func (r *round) fate(n *node) (f fate, ok bool) {
	if r.phase != disturbing {
		return 0, false
	}
	var fates []fate
	for f := aKill; f <= aCut; f++ {
		for range r.left[f] {
			fates = append(fates, f)
		}
	}
	if len(fates) == 0 {
		return 0, false
	}
	return fates[r.rand.IntN(len(fates))], true
}

func (r *round) befall(n *node, f fate, now time.Time) {
	switch f {
	case aKill:
		switch {
		case n.point.name == "":
			r.kill(n)
		case n.point.when == stopped:
			n.ask(op{N: stopNumber, Do: doStop})
			n.due = now.Add(r.patience)
		default:
			n.state, n.due = isDoomed, now.Add(patience)
		}
		return
	case aPause:
		n.proc.stop()
		n.state = isPaused
		r.tally.pauses++
	case aCut:
		n.proxy.cut([]proxyState{refuses, silent}[r.rand.IntN(2)])
		n.state = isCut
		r.tally.cuts++
	}
	r.left[f]--
	n.due = now.Add(r.upTo(3))
}

// kill kills a node's process.
func (r *round) kill(n *node) {
	n.proc.kill()
	n.state, n.due = isDying, time.Now().Add(time.Hour)
	r.died()
}

// died counts a kill.
func (r *round) died() {
	r.tally.kills++
	r.left[aKill]--
}

func (r *round) giveUp(n *node, invariant, what string) {
	r.violated(invariant, "process %d %s %s after its start; it says %q", n.life, what, time.Since(n.proc.started), tail(n.proc.stderr.String(), 500))
}

// disturb makes the server behind the store fail and come back.
func (r *round) disturb(n *node) {
	n.suffers = time.Time{}
	did, err := r.backend.disturb()
	if err != nil {
		r.violated("store", "cannot restart the killed server: %v", err)
	}
	if did {
		r.tally.disturbed++
		n.due = time.Now().Add(n.after) // to meet it
	}
}

// disturbed reports whether all disturbances of the round have happened and every node is up again.
func (r *round) disturbed() bool {
	left := 0
	for _, n := range r.left {
		left += max(0, n)
	}
	return left == 0 && r.well(isUp)
}

// well reports whether all nodes have a state.
func (r *round) well(state nodeState) bool {
	for _, n := range r.nodes {
		if n.state != state {
			return false
		}
	}
	return true
}

func (r *round) states() (text string) {
	for _, n := range r.nodes {
		text += fmt.Sprintf("process %d of node %q has state %d; ", n.life, n.name, n.state)
	}
	return text
}

// ended handles the end of a node's process. In a fleet it starts a node again that could not
// start, as a service would.
func (r *round) ended(ctx context.Context, n *node) {
	proc, was := n.proc, n.state
	how := proc.wait()
	n.proc, n.state, n.due = nil, isDown, time.Now()
	r.customers.orphaned(func(op int) bool { return r.asked[op] == n })
	for number, asked := range r.asked {
		if asked == n {
			delete(r.asked, number)
		}
	}
	if at, ok := r.world.firstPoll(n.life); ok {
		took := at.Sub(proc.started)
		r.tally.firstPolls = append(r.tally.firstPolls, took)
		if r.fleet == 0 && took > startsWithin {
			r.violated("I7", "process %d polled first %s after its start, want at most %s", n.life, took, startsWithin)
		}
	}
	switch {
	case proc.killed:
	case how.signaled && n.point.name != "":
		r.died()
		r.chooser.hits[n.point.name]++
	case was == isDying && how == end{}: // it was asked to stop
	case was == isStarting && r.fleet > 0 && n.fails < maxFails:
		n.fails++
		r.tally.repeated++
	default:
		r.violated("process", "process %d of node %q ended by itself: %+v", n.life, n.name, how)
	}
	if r.fleet > 0 {
		n.due = n.due.Add(r.upTo(2))
	} else if r.phase != stopping && len(r.found) == 0 {
		r.look(ctx, false)
	}
}

// killAll kills the processes that still run, and waits for their end.
func (r *round) killAll() {
	for _, n := range r.nodes {
		if n.proc != nil {
			n.proc.kill()
		}
	}
	for _, n := range r.nodes {
		for n.proc != nil {
			if s := <-r.said; s.ended {
				s.node.proc.wait()
				s.node.proc = nil
			}
		}
	}
}
