package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/node"
)

// How long things take in virtual time.
const (
	callTakes = 2 * time.Millisecond
	giveTakes = 20 * time.Millisecond
	takeTakes = 100 * time.Millisecond
	lease     = 10 * time.Second
)

// life is one process of a node: an engine that only notes what it has.
type life struct {
	*node.Node
	w    *world
	id   int
	dead atomic.Bool
	stop context.CancelFunc
	ran  chan struct{}

	mu    sync.Mutex
	own   fleet.Set
	since [fleet.Parts]time.Time // of what it has
	held  bool
	grant float64
}

// start has a node join and run.
func (w *world) start(name string) *life {
	l := &life{w: w, ran: make(chan struct{})}
	w.mu.Lock()
	l.id = len(w.lives)
	w.lives = append(w.lives, l)
	w.mu.Unlock()
	var err error
	l.Node, err = node.New(node.Config{
		Node:    fleet.Node{Name: name, Weight: 1, Lease: lease, Fingerprint: "fleet"},
		Members: distant{w.store.Members(), &l.dead}, Feed: w.store.Feed(), Signals: w.store.Signals(), Host: l,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := l.Join(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	go func() {
		defer close(l.ran)
		if err := l.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	return l
}

// leave is a planned stop.
func (l *life) leave() {
	l.stop()
	<-l.ran
	if err := l.Leave(context.Background()); err != nil {
		l.w.t.Error(err)
	}
	l.dead.Store(true)
}

// crash ends a process at once: nothing more of it reaches the store. It returns what
// the node had.
func (l *life) crash() fleet.Set {
	l.mu.Lock()
	l.dead.Store(true)
	own := l.own
	l.endLocked(own)
	l.mu.Unlock()
	l.stop()
	<-l.ran
	return own
}

// endLocked notes that some parts are not polled any more.
func (l *life) endLocked(parts fleet.Set) {
	now := time.Now()
	if !l.held {
		for p := range parts.All() {
			l.w.spans[p].add(span{l.id, l.since[p], now})
		}
	}
	l.own = l.own.Minus(parts)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Take begins parts once their cursors are read.
func (l *life) Take(ctx context.Context, own, _ fleet.Set) error {
	if err := wait(ctx, takeTakes); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead.Load() {
		return errors.New("fleet: the node is dead")
	}
	for p := range own.Minus(l.own).All() {
		l.since[p] = time.Now()
	}
	l.own = own
	return nil
}

// Give stops parts; what is under way ends.
func (l *life) Give(ctx context.Context, _, given fleet.Set) error {
	l.mu.Lock()
	l.endLocked(given.And(l.own))
	l.mu.Unlock()
	return wait(ctx, giveTakes)
}

func (l *life) Lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.lost.Add(1)
	l.endLocked(l.own)
}

func (l *life) Hold(hold bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.own
	if hold {
		l.endLocked(own)
		l.own = own
	} else {
		for p := range own.All() {
			l.since[p] = time.Now()
		}
	}
	l.held = hold
}

func (l *life) Budgets() []node.Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	demand := 0
	for p := range l.own.All() {
		demand += l.w.size[p]
	}
	return []node.Budget{{Name: "calls", Total: budget, Demand: float64(demand)}}
}

// budget is the rate that all nodes share.
const budget = 1000.0

func (l *life) Grant(_ string, rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grant = rate
}

func (l *life) Apply(context.Context, []fleet.Change) error { return nil }
func (l *life) Reread(context.Context) error                { return nil }
func (l *life) Signal(fleet.Signal)                         {}
func (l *life) Epoch(uint64)                                {}

// distant is a store that takes a while to answer.
type distant struct {
	fleet.Members
	dead *atomic.Bool
}

var errDead = errors.New("fleet: the node is dead")

func (d distant) far(ctx context.Context) error {
	if d.dead.Load() {
		return errDead
	}
	return wait(ctx, callTakes)
}

func (d distant) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	if err := d.far(ctx); err != nil {
		return fleet.State{}, err
	}
	return d.Members.Join(ctx, n)
}

func (d distant) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	if err := d.far(ctx); err != nil {
		return fleet.State{}, err
	}
	return d.Members.Beat(ctx, b)
}

func (d distant) Leave(ctx context.Context, f fleet.Fence) error {
	if err := d.far(ctx); err != nil {
		return err
	}
	return d.Members.Leave(ctx, f)
}
