package streamwatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/control"
)

// While another node holds a turn, a node tries again after turnWait, then after twice as long each
// time. It gives up after turnMost in total.
const (
	turnWait = 2 * time.Millisecond
	turnMost = time.Second
)

// ErrBusy is returned if another creation for the owner has not ended within 1 s on another node of
// the fleet, or within 11 s (by default) on this one. Try again. If a node dies during a creation,
// ErrBusy is returned until the turn's lease ends, after 22 s by default.
var ErrBusy = errors.New("streamwatch: something else is being created for the owner: try again")

// turnOf identifies a turn: an owner and one of its quotas, or its credits ("cover").
type turnOf struct{ owner, quota string }

// turns holds the turns that callers in this engine have.
type turns struct {
	mu   sync.Mutex
	held map[turnOf]chan struct{} // closed when the turn ends
}

// take acquires a turn and returns the function that ends it. If another caller holds the turn,
// take instead returns a channel that is closed when that turn ends.
func (t *turns) take(of turnOf) (end func(), others <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, ok := t.held[of]; ok {
		return nil, other
	}
	if t.held == nil {
		t.held = map[turnOf]chan struct{}{}
	}
	ended := make(chan struct{})
	t.held[of] = ended
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.held, of)
		close(ended)
	}, nil
}

// turn acquires the lock for one owner and one quota, or for the owner's credits. In a fleet the
// lock covers all nodes. The caller holds it from counting until the new record is stored. The
// fleet's lock is a fleet.Answers request that is never answered; its lease is twice
// monitor.Config.ChangeTimeout.
//
// If the lock is held, turn returns a *control.Later instead of waiting. So no caller waits for a
// turn while it holds another turn or the lock of a manager. One owner's wait does not delay other
// owners, and turns cannot deadlock, whatever order they are acquired in.
func (a *admission) turn(ctx context.Context, owner, quota string) (done func(), err error) {
	end, others := a.turns.take(turnOf{owner, quota})
	if others != nil {
		return nil, &control.Later{Wait: func(ctx context.Context, waited time.Duration) (time.Duration, error) {
			select {
			case <-others:
				return waited, nil
			case <-ctx.Done():
				return waited, waitEnded(ctx)
			}
		}}
	}
	if a.e.fleet == nil {
		return end, nil
	}
	q := fleet.Request{Owner: owner, ID: "turn of " + quota, By: rand.Text(), Lease: a.e.grace / 2}
	switch _, err := a.e.answers.Begin(ctx, q); {
	case err == nil:
		return both(end, func() { a.endTurn(ctx, q) }), nil
	case errors.Is(err, fleet.ErrUnderWay):
		end()
		return nil, &control.Later{Wait: waitForNode}
	default:
		a.endTurn(ctx, q) // the store may have begun it
		end()
		return nil, fmt.Errorf("streamwatch: wait for other nodes: %w", err)
	}
}

// waitForNode waits before the next try for a turn that another node holds. It waits turnWait at
// first, then twice as long each time, and returns ErrBusy after turnMost in total.
func waitForNode(ctx context.Context, waited time.Duration) (time.Duration, error) {
	if waited >= turnMost {
		return waited, ErrBusy
	}
	wait := min(waited+turnWait, turnMost-waited)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return waited + wait, nil
	case <-ctx.Done():
		return waited, waitEnded(ctx)
	}
}

// waitEnded returns the error of a wait that ended because ctx ended.
func waitEnded(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, control.ErrWaited) {
		return ErrBusy
	}
	return fmt.Errorf("streamwatch: %w", err)
}

func (a *admission) endTurn(ctx context.Context, q fleet.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnMost)
	defer cancel()
	if err := a.e.answers.Finish(ctx, q, nil); err != nil && !errors.Is(err, fleet.ErrNotBegun) {
		a.e.cfg.Logger.Warn("cannot release the turn to create a record: it ends with its lease", "owner", q.Owner, "error", err)
	}
}

// both returns a function that calls later and then first.
func both(first, later func()) func() { return func() { later(); first() } }
