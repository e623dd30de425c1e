package streamwatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// Another node has its turn for some milliseconds. One that asks waits turnWait, then up
// to twice as long again, turnMost in all.
const (
	turnWait = 2 * time.Millisecond
	turnMost = time.Second
)

// ErrBusy: another node of the fleet is creating something for the owner, or died while it
// was. Try again; a node that died stands in the way for twice as long as a creation may
// take, 22 s by default.
var ErrBusy = errors.New("streamwatch: another node is creating something for the owner: try again")

// turn takes an owner's turn to create, of which there is one in the whole fleet for each
// quota, and one for what has to be covered by credits: from the count of what is there until
// another is stored. It is a request in the
// store that is never answered, whose lease is twice the time that a creation may take.
// Without a fleet the managers' own locks do.
func (a *admission) turn(ctx context.Context, owner, quota string) (done func(), err error) {
	if a.e.fleet == nil {
		return func() {}, nil
	}
	answers := a.e.answers
	q := fleet.Request{Owner: owner, ID: "turn of " + quota, By: rand.Text(), Lease: a.e.grace / 2}
	for wait, waited := turnWait, time.Duration(0); ; wait *= 2 {
		_, err := answers.Begin(ctx, q)
		switch {
		case err == nil:
			return func() { a.endTurn(ctx, q) }, nil
		case !errors.Is(err, fleet.ErrUnderWay):
			a.endTurn(ctx, q) // the store may have begun it
			return nil, fmt.Errorf("streamwatch: wait for other nodes: %w", err)
		case waited >= turnMost:
			return nil, ErrBusy
		}
		wait = min(wait, turnMost-waited)
		waited += wait
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("streamwatch: %w", context.Cause(ctx))
		}
	}
}

func (a *admission) endTurn(ctx context.Context, q fleet.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnMost)
	defer cancel()
	if err := a.e.answers.Finish(ctx, q, nil); err != nil && !errors.Is(err, fleet.ErrNotBegun) {
		a.e.cfg.Logger.Warn("giving up the turn to create failed, it ends with its lease", "owner", q.Owner, "error", err)
	}
}

// both calls two functions, the later one first.
func both(first, later func()) func() { return func() { later(); first() } }
