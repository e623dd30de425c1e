package detect

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/fetcher"
)

// StreamStats counts what a stream did; zero without Roles.Stream.
type StreamStats = push.Stats

// streamTarget is the stream's name in the journal. Other names have a prefix.
const streamTarget = "stream"

// stream has a Detector take what a Streamer pushes. On nil, which is for a Detector
// without one, run, accountsChanged, position and stored do nothing.
type stream struct {
	d          *Detector
	health     *push.Health
	positions  *push.Positions
	supervisor *push.Supervisor
}

func newStream(d *Detector) *stream {
	s := &stream{d: d, positions: push.NewPositions(), health: push.NewHealth(d.deps.Roles.Stream.Brings, d.cfg.AuditEvery, d.deps.Now)}
	s.supervisor = push.New(push.Config{Streamer: d.deps.Roles.Stream, Sink: sink{d}, Health: s.health, Positions: s.positions,
		Accounts: s.accounts, Store: func() { d.committer.queue.Put(waiting{batch: &Batch{}}) },
		Backoff: d.env.Backoff, Logger: d.deps.Logger, Now: d.deps.Now})
	return s
}

func (s *stream) accountsChanged() {
	if s != nil {
		s.supervisor.AccountsChanged()
	}
}

// run keeps the stream connected, from the stored position on, as a goroutine of Run.
func (s *stream) run(ctx context.Context) {
	if s == nil {
		return
	}
	ctx, end := untilStop(ctx, s.d.stop)
	defer end()
	found, err := s.d.deps.Journal.Cursors(ctx, streamTarget)
	if err != nil { // polls find what came meanwhile
		s.d.deps.Logger.Error("reading the stream's position failed", "error", err)
	} else if len(found) == 1 {
		s.positions.Begin(found[0].Position)
	}
	s.supervisor.Run(ctx)
}

// position is the cursor of the stream to commit with a group; nil when it is in the
// journal already.
func (s *stream) position(group []waiting) *Cursor {
	if s == nil {
		return nil
	}
	var numbers []uint64
	for _, w := range group {
		if w.poll != nil {
			numbers = append(numbers, w.poll.Stream.Numbers...)
		}
	}
	if position, ok := s.positions.With(numbers); ok {
		return &Cursor{Target: streamTarget, Position: position}
	}
	return nil
}

// stored takes note that a cursor of the stream is in the journal; nil is none.
func (s *stream) stored(c *Cursor) {
	if s != nil && c != nil {
		s.positions.Stored(c.Position)
	}
}

// accounts are those that are watched.
func (s *stream) accounts(ctx context.Context) (list []fetcher.Account, rate float64, err error) {
	for _, sh := range s.d.shards {
		for from, more := int32(0), true; more; from += groupSlots {
			err := s.d.ask(ctx, sh, func(sh *shard) {
				more = sh.accounts.Pushed.Named(from, groupSlots, func(a fetcher.Account, perSecond float64) {
					list = append(list, a)
					rate += perSecond
				})
			})
			if err != nil { // list may still be written
				return nil, 0, err
			}
		}
	}
	return list, rate, nil
}

// sink hands to the shards what a stream tells.
type sink struct{ d *Detector }

// pushed is a post that a stream has brought.
type pushed struct {
	username string
	push     poll.Push
}

func (s sink) Post(number uint64, name string, post *fetcher.Tweet, at time.Time) {
	shardOf(s.d, name).mail.Put(message{pushed: &pushed{name, poll.Push{Number: number, Post: *post, At: at}}})
}

func (s sink) Cover(list []fetcher.Account, unbroken bool) {
	s.each(list, func(p *accounts.Pushed, names []string, now time.Time) { p.Cover(names, unbroken, now) })
}
func (s sink) Gap(list []fetcher.Account) {
	s.each(list, func(p *accounts.Pushed, names []string, now time.Time) { p.Gap(names, list == nil, now) })
}
func (s sink) Trust(trusted bool) {
	s.each(nil, func(p *accounts.Pushed, _ []string, _ time.Time) { p.Trust(trusted) })
}

// each calls fn for each shard, with those of the accounts that are its own.
func (s sink) each(list []fetcher.Account, fn func(p *accounts.Pushed, names []string, now time.Time)) {
	now, names := s.d.deps.Now(), map[*shard][]string{}
	for _, a := range list {
		sh := shardOf(s.d, a.Username)
		names[sh] = append(names[sh], a.Username)
	}
	for _, sh := range s.d.shards {
		sh.mail.Put(message{ask: func(sh *shard) { fn(sh.accounts.Pushed, names[sh], now) }})
	}
}

// push hands a post to the account's polls. One that comes too late is for the next
// process.
func (sh *shard) push(p *pushed) {
	a := sh.accounts
	slot, ok := a.Find(accounts.HashName(p.username), p.username)
	switch {
	case sh.stopping:
	case ok && a.Watched(slot):
		a.Polls.Push(slot, a.Polled(slot), p.push)
	default: // nobody's
		sh.d.stream.positions.Done([]uint64{p.push.Number})
	}
}
