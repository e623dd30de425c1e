package node

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/batch"
)

const (
	together = time.Millisecond // signals put within this time are sent together
	maxKeys  = 4096             // the most SignalHeads, and the most SignalClosed, that wait
)

// outgoing has the signals to be sent. It joins signals of the same kind and key to one.
type outgoing struct {
	bell batch.Bell

	mu      sync.Mutex
	due     fleet.Set
	heads   map[string]uint64
	closed  map[string]time.Time
	hints   map[fleet.SignalKind]bool // by SignalChanged, SignalLook and SignalMembers
	blocked bool                      // the last signal could not be sent
}

func newOutgoing() *outgoing {
	o := &outgoing{bell: batch.NewBell()}
	o.clear()
	return o
}

func (o *outgoing) clear() {
	o.heads, o.due = map[string]uint64{}, fleet.Set{}
	o.closed, o.hints = map[string]time.Time{}, map[fleet.SignalKind]bool{}
}

// Send sends a signal to the other nodes within some milliseconds. It joins the signal with
// others that wait, and does not block.
func (n *Node) Send(s fleet.Signal) { n.out.put(s) }

func (o *outgoing) put(s fleet.Signal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch s.Kind {
	case fleet.SignalDue:
		for _, p := range s.Parts {
			if p < fleet.Parts {
				o.due.Add(p)
			}
		}
	case fleet.SignalHead:
		o.heads[s.Key] = max(o.heads[s.Key], s.N)
	case fleet.SignalClosed:
		if s.Until.After(o.closed[s.Key]) {
			o.closed[s.Key] = s.Until
		}
	case fleet.SignalChanged, fleet.SignalLook, fleet.SignalMembers:
		o.hints[s.Kind] = true
	default:
		return
	}
	if len(o.heads) > maxKeys || len(o.closed) > maxKeys { // one SignalLook replaces them all
		clear(o.heads)
		clear(o.closed)
		o.hints[fleet.SignalLook] = true
	}
	o.bell.Ring()
}

// take removes and returns the signals that wait, the most urgent first.
func (o *outgoing) take() (all []fleet.Signal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(o.hints)) {
		all = append(all, fleet.Signal{Kind: kind})
	}
	for _, key := range slices.Sorted(maps.Keys(o.closed)) {
		all = append(all, fleet.Signal{Kind: fleet.SignalClosed, Key: key, Until: o.closed[key]})
	}
	if o.due != (fleet.Set{}) {
		all = append(all, fleet.Signal{Kind: fleet.SignalDue, Parts: slices.Collect(o.due.All())})
	}
	for _, key := range slices.Sorted(maps.Keys(o.heads)) {
		all = append(all, fleet.Signal{Kind: fleet.SignalHead, Key: key, N: o.heads[key]})
	}
	o.clear()
	return all
}

func (o *outgoing) run(ctx context.Context, n *Node) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-o.bell:
		case <-ctx.Done():
			// Signals of the last commits are still sent.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.times.gap)
			defer cancel()
			o.flush(last, n)
			return
		}
		timer.Reset(together)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		o.flush(ctx, n)
	}
}

func (o *outgoing) flush(ctx context.Context, n *Node) {
	term := n.Fence().Term
	for _, s := range o.take() {
		if ctx.Err() != nil {
			return
		}
		s.Term = term
		err := n.call(ctx, func(ctx context.Context) error { return n.cfg.Signals.Send(ctx, s) })
		if err != nil && !o.blocked && ctx.Err() == nil {
			n.cfg.Logger.Warn("sending signals failed: other nodes notice changes up to a second later", "error", err)
		}
		o.blocked = err != nil
	}
}

// receive handles the signals of other nodes until ctx ends.
func (n *Node) receive(ctx context.Context) {
	pause := n.pause()
	for ctx.Err() == nil {
		err := n.cfg.Signals.Receive(ctx, n.heard)
		if ctx.Err() != nil {
			return
		}
		n.cfg.Logger.Warn("receiving signals failed: this node notices changes up to a second later", "error", err)
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
		}
	}
}

// heard handles a signal. It ignores this node's own signals.
func (n *Node) heard(s fleet.Signal) {
	if s.Term != "" && s.Term == n.Fence().Term {
		return
	}
	switch s.Kind {
	case fleet.SignalLook, fleet.SignalMembers:
		// All nodes receive the signal at the same time. A random delay keeps them from all
		// reading the store at the same time.
		n.stand.call(time.Duration(rand.Int64N(int64(n.times.gap))))
		if s.Kind == fleet.SignalLook {
			n.cfg.Host.Signal(s)
		}
	case fleet.SignalChanged, fleet.SignalDue, fleet.SignalHead, fleet.SignalClosed:
		n.cfg.Host.Signal(s)
	}
}
