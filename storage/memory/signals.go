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

// receiver is a Receive call in progress. Only Send puts signals into it, with the store locked.
type receiver chan fleet.Signal

func (g signals) Send(ctx context.Context, sig fleet.Signal) error {
	if err := g.s.lock(ctx); err != nil {
		return err
	}
	defer g.s.mu.Unlock()
	for r := range g.s.receivers {
		own := sig
		own.Parts = slices.Clone(sig.Parts)
		select {
		case r <- own:
		default:
			r.drain()
			r <- fleet.Signal{Kind: fleet.SignalLook}
			r <- own
		}
	}
	return nil
}

// drain drops the signals that wait.
func (r receiver) drain() {
	for {
		select {
		case <-r:
		default:
			return
		}
	}
}

func (g signals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	if err := g.s.lock(ctx); err != nil {
		return err
	}
	r := make(receiver, signalQueue)
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
		case sig, ok := <-r: // Close closes it
			if !ok {
				return ErrClosed
			}
			fn(sig)
		}
	}
}
