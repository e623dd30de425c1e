package node

import (
	"cmp"
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
	together   = time.Millisecond // signals put within this time are sent together
	maxSignals = 4096             // the most that wait
)

// byUrgency has the kinds of signals in the order in which they are sent.
var byUrgency = []fleet.SignalKind{fleet.SignalMembers, fleet.SignalLook, fleet.SignalChanged, fleet.SignalClosed, fleet.SignalDue, fleet.SignalHead}

// outgoing has the signals to be sent. It joins signals of the same kind and key to one.
type outgoing struct {
	bell batch.Bell

	mu      sync.Mutex
	waiting map[signalKey]fleet.Signal // without Parts
	due     fleet.Set                  // the Parts of a SignalDue
	blocked bool                       // the last signal could not be sent
}

type signalKey struct {
	kind fleet.SignalKind
	key  string
}

func newOutgoing() *outgoing {
	return &outgoing{bell: batch.NewBell(), waiting: map[signalKey]fleet.Signal{}}
}

// Send sends a signal to the other nodes within some milliseconds. It joins the signal with
// others that wait, and does not block.
func (n *Node) Send(s fleet.Signal) { n.out.put(s) }

func (o *outgoing) put(s fleet.Signal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) >= maxSignals { // one SignalLook replaces them all
		clear(o.waiting)
		o.waiting[signalKey{kind: fleet.SignalLook}] = fleet.Signal{Kind: fleet.SignalLook}
	}
	k := signalKey{s.Kind, s.Key}
	had := o.waiting[k]
	if had.Until.After(s.Until) {
		s.Until = had.Until
	}
	o.due = o.due.Plus(fleet.SetOf(s.Parts...))
	s.N, s.Parts = max(s.N, had.N), nil
	o.waiting[k] = s
	o.bell.Ring()
}

// take removes and returns the signals that wait, the most urgent first.
func (o *outgoing) take() []fleet.Signal {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.SortedFunc(maps.Values(o.waiting), func(a, b fleet.Signal) int {
		return cmp.Compare(slices.Index(byUrgency, a.Kind), slices.Index(byUrgency, b.Kind))
	})
	for i := range all {
		if all[i].Kind == fleet.SignalDue {
			all[i].Parts = slices.Collect(o.due.All())
		}
	}
	clear(o.waiting)
	o.due = fleet.Set{}
	return all
}

func (o *outgoing) run(ctx context.Context, n *Node) {
	for {
		select {
		case <-o.bell:
		case <-ctx.Done():
			return // Leave sends what waits
		}
		select {
		case <-time.After(together):
		case <-ctx.Done():
		}
		o.flush(ctx, n)
	}
}

func (o *outgoing) flush(ctx context.Context, n *Node) {
	if ctx.Err() != nil {
		return
	}
	term := n.Fence().Term
	for _, s := range o.take() {
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
		// calling the store at the same time.
		n.stand.ask(time.Duration(rand.Int64N(int64(n.times.gap))))
		if s.Kind == fleet.SignalLook {
			n.cfg.Host.Signal(s)
		}
	case fleet.SignalChanged, fleet.SignalDue, fleet.SignalHead, fleet.SignalClosed:
		n.cfg.Host.Signal(s)
	}
}
