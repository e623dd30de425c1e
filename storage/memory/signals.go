package memory

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/fleet"
)

// signalQueue is the maximum number of signals that wait for a receiver. If there is one more, a
// SignalLook replaces all of them.
const signalQueue = 1024

// signals implements fleet.Signals.
type signals struct{ s *Store }

// receiver is a Receive call in progress. The store's lock guards queue.
type receiver struct {
	queue []fleet.Signal
	wake  chan struct{} // buffered, size 1; holds a value while the receiver has something to do
}

func (g signals) Send(ctx context.Context, sig fleet.Signal) error {
	if err := g.s.lock(ctx); err != nil {
		return err
	}
	defer g.s.mu.Unlock()
	for r := range g.s.receivers {
		if len(r.queue) == signalQueue {
			r.queue = append(r.queue[:0], fleet.Signal{Kind: fleet.SignalLook})
		}
		own := sig
		own.Parts = slices.Clone(sig.Parts)
		r.queue = append(r.queue, own)
		r.signal()
	}
	return nil
}

func (g signals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	if err := g.s.lock(ctx); err != nil {
		return err
	}
	r := &receiver{wake: make(chan struct{}, 1)}
	g.s.receivers[r] = struct{}{}
	g.s.mu.Unlock()
	defer func() {
		g.s.mu.Lock()
		defer g.s.mu.Unlock()
		delete(g.s.receivers, r)
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		}
		if err := g.s.lock(ctx); err != nil {
			return err
		}
		queue := r.queue
		r.queue = nil
		g.s.mu.Unlock()
		for _, sig := range queue {
			if err := ctx.Err(); err != nil {
				return err
			}
			fn(sig)
		}
	}
}

// signal wakes the receiver.
func (r *receiver) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
