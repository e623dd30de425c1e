package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// brokenFleet is a storage.Sharing with some methods replaced; a nil one is not.
type brokenFleet struct {
	storage.Store
	real storage.Sharing

	join  func(context.Context, fleet.Node) (fleet.State, error)
	beat  func(context.Context, fleet.Beat) (fleet.State, error)
	leave func(context.Context, fleet.Fence) error
	since func(ctx context.Context, after uint64, limit int) ([]fleet.Change, error)
	send  func(context.Context, fleet.Signal) error

	begin  func(context.Context, fleet.Answers, fleet.Request) (*fleet.Answer, error)
	finish func(context.Context, fleet.Answers, fleet.Request, []byte) error

	commit  func(context.Context, []*detect.Batch) error
	claim   func(context.Context, deliver.ClaimRequest) ([]deliver.Delivery, error)
	nextDue func(context.Context, *fleet.Set) (time.Time, bool, error)
}

// breakFleet wraps a store that edit then breaks.
func breakFleet(s storage.Store, edit func(b *brokenFleet, m fleet.Members)) storage.Store {
	real := s.(storage.Sharing)
	b := &brokenFleet{Store: s, real: real}
	edit(b, real.Members())
	return b
}

func (b *brokenFleet) Members() fleet.Members { return brokenMembers{b.real.Members(), b} }
func (b *brokenFleet) Feed() fleet.Feed       { return brokenFeed{b.real.Feed(), b} }
func (b *brokenFleet) Signals() fleet.Signals { return brokenSignals{b.real.Signals(), b} }
func (b *brokenFleet) Answers() fleet.Answers { return brokenAnswers{b.real.Answers(), b} }
func (b *brokenFleet) Journal() detect.Journal {
	return brokenJournal{b.Store.Journal(), &broken{commit: b.commit}}
}
func (b *brokenFleet) Outbox() deliver.Outbox { return brokenFleetOutbox{b.Store.Outbox(), b} }

type brokenMembers struct {
	fleet.Members
	b *brokenFleet
}

func (m brokenMembers) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	if f := m.b.join; f != nil {
		return f(ctx, n)
	}
	return m.Members.Join(ctx, n)
}

func (m brokenMembers) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	if f := m.b.beat; f != nil {
		return f(ctx, b)
	}
	return m.Members.Beat(ctx, b)
}

func (m brokenMembers) Leave(ctx context.Context, fence fleet.Fence) error {
	if f := m.b.leave; f != nil {
		return f(ctx, fence)
	}
	return m.Members.Leave(ctx, fence)
}

type brokenFeed struct {
	fleet.Feed
	b *brokenFleet
}

func (v brokenFeed) Since(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
	if f := v.b.since; f != nil {
		return f(ctx, after, limit)
	}
	return v.Feed.Since(ctx, after, limit)
}

type brokenSignals struct {
	fleet.Signals
	b *brokenFleet
}

func (g brokenSignals) Send(ctx context.Context, s fleet.Signal) error {
	if f := g.b.send; f != nil {
		return f(ctx, s)
	}
	return g.Signals.Send(ctx, s)
}

type brokenFleetOutbox struct {
	deliver.Outbox
	b *brokenFleet
}

func (o brokenFleetOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if f := o.b.claim; f != nil {
		return f(ctx, r)
	}
	return o.Outbox.Claim(ctx, r)
}

func (o brokenFleetOutbox) NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error) {
	if f := o.b.nextDue; f != nil {
		return f(ctx, parts)
	}
	return o.Outbox.NextDue(ctx, parts)
}

// fences knows the present fences of all terms that joined through it.
type fences struct {
	mu      sync.Mutex
	present map[string]fleet.Fence
}

// follow has fences see the answers of Join and Beat, unless those are replaced.
func follow(b *brokenFleet, m fleet.Members) *fences {
	f := &fences{present: map[string]fleet.Fence{}}
	b.join = func(ctx context.Context, n fleet.Node) (fleet.State, error) {
		st, err := m.Join(ctx, n)
		f.saw(st, err)
		return st, err
	}
	b.beat = func(ctx context.Context, beat fleet.Beat) (fleet.State, error) {
		st, err := m.Beat(ctx, beat)
		f.saw(st, err)
		return st, err
	}
	return f
}

// saw takes down an answer. Terms that it does not show have ended.
func (f *fences) saw(st fleet.State, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		return
	}
	f.present[st.Fence.Term] = st.Fence
	living := map[string]bool{}
	for _, m := range st.Members {
		living[m.Term] = true
	}
	for term := range f.present {
		if !living[term] {
			delete(f.present, term)
		}
	}
}

// is reports whether a fence is the present one of its term.
func (f *fences) is(fence fleet.Fence) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.present[fence.Term] == fence
}

// any commits batches whatever their fences say.
func (f *fences) any(ctx context.Context, j detect.Journal, batches []*detect.Batch) error {
	f.mu.Lock()
	tries := []fleet.Fence{{}}
	for _, fence := range f.present {
		tries = append(tries, fence)
	}
	f.mu.Unlock()
	var err error
	for _, fence := range tries {
		for _, b := range batches {
			b.Fence = fence
		}
		if err = j.Commit(ctx, batches); err == nil {
			return nil
		}
	}
	return err
}
