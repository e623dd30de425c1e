package storetest

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
)

type faultyMembers struct {
	f    *faultyStore
	real fleet.Members
}

func (m faultyMembers) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	return answer(ctx, m.f, "Members.Join", func() (fleet.State, error) { return m.real.Join(ctx, n) })
}

func (m faultyMembers) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	return answer(ctx, m.f, "Members.Beat", func() (fleet.State, error) { return m.real.Beat(ctx, b) })
}

func (m faultyMembers) Leave(ctx context.Context, f fleet.Fence) error {
	return m.f.call(ctx, "Members.Leave", func() error { return m.real.Leave(ctx, f) })
}

func (m faultyMembers) Look(ctx context.Context) (fleet.State, error) {
	return answer(ctx, m.f, "Members.Look", func() (fleet.State, error) { return m.real.Look(ctx) })
}

type faultySignals struct {
	f    *faultyStore
	real fleet.Signals
}

func (g faultySignals) Send(ctx context.Context, s fleet.Signal) error {
	return g.f.call(ctx, "Signals.Send", func() error { return g.real.Send(ctx, s) })
}

// Receive ends when the store dies.
func (g faultySignals) Receive(ctx context.Context, fn func(fleet.Signal)) error {
	return g.f.call(ctx, "Signals.Receive", func() error {
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(g.f.life, cancel)()
		err := g.real.Receive(own, fn)
		if g.f.life.Err() != nil {
			return ErrStoreDied
		}
		return err
	})
}
