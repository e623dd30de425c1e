package node

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/batch"
)

const (
	lookEvery  = time.Second // how often the feed is read without a signal
	maxChanges = 1000        // per call of Host.Apply
)

// task is a request from the term's loop to the follower.
type task struct {
	kind       taskKind
	own, parts fleet.Set
}

type taskKind int

const (
	read  taskKind = iota // read all records; the follower does that without a request
	check                 // apply all changes made before the request
	take
	give
)

func (k taskKind) String() string { return [...]string{"read", "check", "take", "give"}[k] }

type outcome struct {
	task
	err error
}

// follower makes the calls to the Host that may take long: to take parts, to give parts, and to
// apply the changes in the feed. It makes them one at a time. Each term runs it once.
type follower struct {
	n       *Node
	applied atomic.Uint64 // the last change that was applied
	whole   atomic.Bool   // all records were read in this term
	wanted  atomic.Uint64 // a change that another node waits for; 0 for none
	bell    batch.Bell    // wakes the follower to read the feed
	anew    atomic.Bool   // the follower must read all records
	tasks   chan task
	done    chan outcome
	told    time.Time // due time of the last beat that was requested to report a change
}

func newFollower(n *Node) *follower {
	return &follower{n: n, bell: batch.NewBell(), tasks: make(chan task, 1), done: make(chan outcome, 1)}
}

// reset prepares the follower for a new term.
func (f *follower) reset() {
	f.wanted.Store(0)
	f.applied.Store(0)
	f.whole.Store(false)
	f.anew.Store(true)
	for len(f.tasks) > 0 {
		<-f.tasks
	}
	for len(f.done) > 0 {
		<-f.done
	}
}

// reread makes the follower read all records again, because the store reuses the numbers of
// changes. It forgets the change that another node waits for: that node will ask again.
func (f *follower) reread() {
	f.wanted.Store(0)
	f.anew.Store(true)
	f.bell.Ring()
}

func (f *follower) run(ctx context.Context) {
	pause := f.n.pause()
	timer := time.NewTimer(0)
	defer timer.Stop()
	begun := false
	var notBefore time.Time // after an error
	for ctx.Err() == nil {
		select {
		case t := <-f.tasks:
			f.done <- outcome{t, f.do(ctx, t)}
			continue
		case <-timer.C:
		case <-f.bell:
		case <-ctx.Done():
			return
		}
		if wait := time.Until(notBefore); wait > 0 {
			timer.Reset(wait)
			continue
		}
		more, err := f.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if notBefore.IsZero() {
				f.n.cfg.Logger.Warn("applying changes of records failed: trying again", "error", err)
			}
			wait := pause.NextBackOff()
			notBefore = time.Now().Add(wait)
			timer.Reset(wait)
			continue
		case !begun:
			begun = true
			f.done <- outcome{task: task{kind: read}}
		}
		pause.Reset()
		notBefore = time.Time{}
		if more {
			timer.Reset(0)
		} else {
			timer.Reset(lookEvery)
		}
	}
}

func (f *follower) do(ctx context.Context, t task) error {
	switch t.kind {
	case take:
		return f.n.cfg.Host.Take(ctx, t.own, t.parts)
	case give:
		return f.n.cfg.Host.Give(ctx, t.own, t.parts)
	}
	for {
		if more, err := f.step(ctx); err != nil || !more {
			return err
		}
	}
}

// step applies the next changes, and reports whether there may be more.
func (f *follower) step(ctx context.Context) (more bool, err error) {
	feed, host := f.n.cfg.Feed, f.n.cfg.Host
	if f.anew.Swap(false) {
		var last uint64
		if err := f.n.call(ctx, func(ctx context.Context) (err error) { last, err = feed.Last(ctx); return err }); err != nil {
			f.anew.Store(true)
			return false, err
		}
		if err := host.Reread(ctx); err != nil {
			f.anew.Store(true)
			return false, err
		}
		f.follows(last)
		f.whole.Store(true)
		return true, nil
	}
	after := f.applied.Load()
	var changes []fleet.Change
	err = f.n.call(ctx, func(ctx context.Context) (err error) { changes, err = feed.Since(ctx, after, maxChanges); return err })
	if errors.Is(err, fleet.ErrTooOld) {
		f.n.cfg.Logger.Warn("the feed of changes does not reach back far enough: reading all records", "after", after)
		f.anew.Store(true)
		return true, nil
	}
	if err != nil || len(changes) == 0 {
		return false, err
	}
	if err := host.Apply(ctx, changes); err != nil {
		return false, err
	}
	f.follows(changes[len(changes)-1].N)
	return len(changes) == maxChanges, nil
}

// follows notes that all changes up to last are applied, and tells the other nodes.
func (f *follower) follows(last uint64) {
	f.applied.Store(last)
	f.n.waits.bell.Ring()
	f.answer()
	// A beat tells the nodes that miss the signal. The interval of these beats grows with the
	// fleet: in a fleet of a hundred nodes, each sends one at most every two seconds.
	now := time.Now()
	if now.Before(f.told) {
		return
	}
	at := f.told.Add(max(lookEvery/2, lookEvery/50*time.Duration(f.n.Members())))
	if soon := now.Add(f.n.times.gap); at.Before(soon) {
		at = soon
	}
	f.told = at
	f.n.stand.ask(at.Sub(now))
}

// want makes the follower signal to the other nodes when it has applied the given change.
func (f *follower) want(change uint64) {
	for old := f.wanted.Load(); old < change && !f.wanted.CompareAndSwap(old, change); old = f.wanted.Load() {
	}
	f.answer()
	f.bell.Ring()
}

// answer signals the last change that this node has applied, if another node waits for that
// change or an earlier one.
func (f *follower) answer() {
	wanted, applied := f.wanted.Load(), f.applied.Load()
	if wanted > 0 && applied >= wanted && f.wanted.CompareAndSwap(wanted, 0) {
		f.n.Send(fleet.Signal{Kind: fleet.SignalApplied, N: applied})
	}
}

// pause returns a backoff for calls that are tried again.
func (n *Node) pause() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(n.times.lease/8), backoff.WithMaxElapsedTime(0))
}
