package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// wire is the way of one node to the store.
type wire struct {
	w     *world
	mu    sync.Mutex
	is    wireState
	all   wireState     // an outage of the store
	moved chan struct{} // closed when it changes
	// lost is how many answers of beats get lost yet.
	lost   int
	late   time.Duration // answers of beats are
	mute   bool          // signals are lost
	beats  int
	refuse error // of the next beat
	calls  int
	deaf   int
	seen   []fleet.Beat
}

type wireState int

const (
	up     wireState = iota
	cut              // calls fail at once
	hangs            // calls wait until their time is over
	frozen           // calls wait until the process goes on, whatever their time
)

func newWire(w *world) *wire { return &wire{w: w, moved: make(chan struct{}), deaf: w.deaf} }

func (l *wire) set(s wireState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.is = s
	close(l.moved)
	l.moved = make(chan struct{})
}

// outage is one of the store.
func (l *wire) outage(s wireState) {
	l.lock(func(l *wire) { l.all = s; s = l.is })
	l.set(s)
}

var errCut = errors.New("the store is not reached")

// pass lets a call through, or not.
func (l *wire) pass(ctx context.Context) error {
	for {
		l.mu.Lock()
		is, changed := l.is, l.moved
		if l.all != up {
			is = l.all
		}
		l.calls++
		l.mu.Unlock()
		switch is {
		case up:
			return wait(ctx, time.Millisecond)
		case cut:
			if err := wait(ctx, time.Millisecond); err != nil {
				return err
			}
			return errCut
		case hangs:
			select {
			case <-changed:
			case <-ctx.Done():
				return ctx.Err()
			}
		case frozen:
			<-changed
		}
	}
}

type wiredMembers struct {
	l *wire
	m fleet.Members
}

func (m wiredMembers) Join(ctx context.Context, n fleet.Node) (st fleet.State, err error) {
	if err = m.l.pass(ctx); err == nil {
		if st, err = m.m.Join(ctx, n); err == nil {
			err = m.l.pass(ctx)
		}
	}
	return st, err
}

func (m wiredMembers) Beat(ctx context.Context, b fleet.Beat) (st fleet.State, err error) {
	if err := m.l.pass(ctx); err != nil {
		return st, err
	}
	m.l.mu.Lock()
	m.l.beats++
	m.l.seen = append(m.l.seen, b)
	late, refuse := m.l.late, m.l.refuse
	m.l.refuse = nil
	m.l.mu.Unlock()
	if refuse != nil {
		return st, refuse
	}
	if st, err = m.m.Beat(ctx, b); err != nil {
		return st, err
	}
	if err := wait(ctx, late); err != nil {
		return fleet.State{}, err
	}
	if m.l.loses() {
		return fleet.State{}, errCut
	}
	return st, m.l.pass(ctx)
}

func (m wiredMembers) Leave(ctx context.Context, f fleet.Fence) error {
	if err := m.l.pass(ctx); err != nil {
		return err
	}
	return m.m.Leave(ctx, f)
}

func (m wiredMembers) Look(ctx context.Context) (st fleet.State, err error) {
	if err := m.l.pass(ctx); err != nil {
		return st, err
	}
	if st, err = m.m.Look(ctx); err == nil {
		err = m.l.pass(ctx)
	}
	return st, err
}

type wiredSignals struct {
	l *wire
	s fleet.Signals
}

func (s wiredSignals) Send(ctx context.Context, sig fleet.Signal) error {
	if err := s.l.pass(ctx); err != nil {
		return err
	}
	if s.l.muted() {
		return nil
	}
	return s.s.Send(ctx, sig)
}

func (s wiredSignals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	if s.l.deaf--; s.l.deaf >= 0 {
		return errCut
	}
	return s.s.Receive(ctx, func(sig fleet.Signal) {
		if !s.l.muted() {
			fn(sig)
		}
	})
}

func (l *wire) muted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mute || l.is != up || l.all != up
}

// lock is for what changes a wire.
func (l *wire) lock(f func(l *wire)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

// loses reports whether an answer gets lost.
func (l *wire) loses() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == 0 {
		return false
	}
	l.lost--
	return true
}

// taken is how many beats the store has taken.
func (l *wire) taken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beats
}

// sent are the beats that the node has sent.
func (l *wire) sent() []fleet.Beat {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

// count is how many calls were made.
func (l *wire) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}
