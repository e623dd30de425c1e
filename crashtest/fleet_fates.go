package main

import (
	"context"
	"time"
)

// upTo returns a random time of up to so many leases.
func (r *enginesRound) upTo(leases float64) time.Duration {
	return time.Duration(r.rand.Float64() * leases * float64(fleetLease))
}

// next starts a node that is down, and lets one go on that was paused or cut off, once
// that is due.
func (r *enginesRound) next(n *engineNode, now time.Time) error {
	if r.stops || now.Before(n.due) {
		return nil
	}
	switch n.state {
	case isDown:
		return r.start(n)
	case isPaused:
		n.proc.resume()
	case isCut:
		n.proxy.heal()
	default:
		return nil
	}
	n.state, n.due = isUp, now.Add(r.upTo(3))
	return nil
}

func (r *enginesRound) start(n *engineNode) error {
	r.lived++
	n.life = r.lived
	store := r.backend.config()
	if n.proxy != nil {
		store.Address = n.proxy.addr()
	}
	proc, err := startProcess(childConfig{Life: n.life, Node: n.name, Platform: r.world.platformURL, Receiver: r.world.receiverURL, Store: store, Bug: r.bug})
	if err != nil {
		return err
	}
	r.tally.starts++
	n.proc, n.state, n.due = proc, isStarting, time.Now().Add(r.upTo(3))
	go func() {
		for rep := range proc.replies {
			r.said <- engineSaid{n, proc, rep, false}
		}
		r.said <- engineSaid{node: n, proc: proc, ended: true}
	}()
	return nil
}

// disturb kills, pauses or cuts off a node now and then, if it is up. It reports whether
// all that was to happen in the round has happened and every node is up again.
func (r *enginesRound) disturb(now time.Time) bool {
	var fates []fate
	for f, n := range r.left {
		for range n {
			fates = append(fates, f)
		}
	}
	well := true
	for _, n := range r.nodes {
		well = well && n.state == isUp
		if len(fates) == 0 || now.Before(n.due) {
			continue
		}
		f := fates[r.rand.IntN(len(fates))]
		if n.state == isUp || n.state == isStarting && f == aKill {
			r.befall(n, f, now)
			return false
		}
	}
	return well && len(fates) == 0
}

func (r *enginesRound) befall(n *engineNode, f fate, now time.Time) {
	r.left[f]--
	switch f {
	case aKill:
		n.proc.kill()
		n.state = isDying
		r.tally.kills++
	case aPause:
		n.proc.stop()
		n.state, n.due = isPaused, now.Add(r.upTo(3))
		r.all.paused++
	case aCut:
		n.proxy.cut([]proxyState{refuses, silent}[r.rand.IntN(2)])
		n.state, n.due = isCut, now.Add(r.upTo(3))
		r.all.cut++
	}
}

// stopAll asks every node to stop gracefully, and waits until all have.
func (r *enginesRound) stopAll(ctx context.Context) error {
	r.stops = true
	for _, n := range r.nodes {
		if n.proc != nil {
			n.proc.ask(op{N: stopNumber, Do: doStop})
			n.state = isDying
		}
	}
	began := time.Now()
	return r.loop(ctx, func(now time.Time) bool {
		left := 0
		for _, n := range r.nodes {
			if n.proc != nil {
				left++
			}
		}
		if now.Sub(began) > r.patience {
			r.violated("process", "%d nodes have not stopped after %s", left, now.Sub(began))
		}
		return left == 0
	})
}

// killAll kills the processes that are left, and waits for their end.
func (r *enginesRound) killAll() {
	r.stops = true
	for _, n := range r.nodes {
		if n.proc != nil {
			n.proc.kill()
		}
	}
	for _, n := range r.nodes {
		for n.proc != nil {
			if s := <-r.said; s.ended {
				s.proc.wait()
				s.node.proc = nil
			}
		}
	}
}
