package storetest

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// faultyFleet has the roles of a storage.Sharing. Each method goes through call or answer.
type faultyFleet struct {
	faultyKeyed
	shared storage.Sharing
}

func (s faultyFleet) Members() fleet.Members { return faultyMembers{s.of, s.shared.Members()} }
func (s faultyFleet) Feed() fleet.Feed       { return faultyFeed{s.of, s.shared.Feed()} }
func (s faultyFleet) Signals() fleet.Signals { return faultySignals{s.of, s.shared.Signals()} }

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

type faultyFeed struct {
	f    *faultyStore
	real fleet.Feed
}

func (v faultyFeed) Since(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
	return answer(ctx, v.f, "Feed.Since", func() ([]fleet.Change, error) { return v.real.Since(ctx, after, limit) })
}

func (v faultyFeed) Last(ctx context.Context) (uint64, error) {
	return answer(ctx, v.f, "Feed.Last", func() (uint64, error) { return v.real.Last(ctx) })
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

type faultyAnswers struct {
	f    *faultyStore
	real fleet.Answers
}

func (a faultyAnswers) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	return answer(ctx, a.f, "Answers.Begin", func() (*fleet.Answer, error) { return a.real.Begin(ctx, q) })
}

func (a faultyAnswers) Finish(ctx context.Context, q fleet.Request, text []byte) error {
	return a.f.call(ctx, "Answers.Finish", func() error { return a.real.Finish(ctx, q, text) })
}
