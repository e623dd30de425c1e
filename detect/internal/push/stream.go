package push

import (
	"context"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// Config sets up a Stream. All fields are required.
type Config struct {
	Streamer fetcher.Streamer
	// Kind is what the stream brings the posts of.
	Kind       poll.Kind
	AuditEvery time.Duration
	// Shards own the accounts or queries, and ShardOf is the owner of one.
	Shards  func() []Shard
	ShardOf func(name string) Shard
	// Position reads from the journal where to resume.
	Position func(ctx context.Context, target string) (position string, err error)
	// Store has a commit made that carries the position: see Positions.With.
	Store func()
	// Billed is called with what the platform charges for a signal.
	Billed func(fetcher.Billed)
	// Closed is for how long there may be no connection, 0 when there may be one.
	Closed func() time.Duration
	// Backoff is the wait after the n-th failure in a row, n from 1.
	Backoff func(n int) time.Duration
	Logger  *slog.Logger
	Now     func() time.Time
}

// Shard owns a part of the accounts or queries.
type Shard interface {
	// Streamed has fn called on the shard's goroutine. AskStreamed waits for that; after an
	// error fn may still be called.
	Streamed(kind poll.Kind, fn func(Covered))
	AskStreamed(ctx context.Context, kind poll.Kind, fn func(Covered)) error
}

// Covered is what a stream brings the posts of, on a shard. Names are those of accounts,
// or the texts of queries.
type Covered interface {
	// Cover sets the list of names that the stream covers. One that was on the list
	// before is covered since then if unbroken is set, others from now on.
	Cover(names []string, unbroken bool, now time.Time)
	// Gap has the covering begin anew: of all, or of those named, which are polled at
	// once, covered or not.
	Gap(names []string, all bool, now time.Time)
	// Trust says whether polls of what is covered may rest.
	Trust(trusted bool)
	// Named calls fn for each account or query that is wanted, from a slot on, n slots
	// at most. It reports whether slots are left.
	Named(from, n int32, fn func(wanted fetcher.Account)) (more bool)
	// Push takes a post, and reports false when nobody wants it.
	Push(name string, p poll.Push) bool
}

// Stream takes what a Streamer pushes. A nil Stream is for no Streamer: the methods that are
// called without one do nothing.
type Stream struct {
	cfg        Config
	health     *Health
	positions  *Positions
	supervisor *Supervisor
	turn       turn
}

// New makes a Stream. Nothing happens before Run.
func New(cfg Config) *Stream {
	s := &Stream{cfg: cfg, turn: turn{bell: batch.NewBell()}, positions: NewPositions(), health: NewHealth(cfg.Streamer.Brings, cfg.AuditEvery, cfg.Now)}
	s.supervisor = newSupervisor(supervision{Config: cfg, sink: s, health: s.health, positions: s.positions, accounts: s.wanted})
	return s
}

// Health is how good the stream is.
func (s *Stream) Health() *Health { return s.health }

// Stats reads the counters.
func (s *Stream) Stats() (st Stats) {
	if s == nil {
		return st
	}
	return s.health.Stats()
}

// target is the stream's name in the journal. Names of accounts and queries have a
// prefix of their own.
func (s *Stream) target() string {
	if s.cfg.Kind == poll.Queries {
		return "stream:queries"
	}
	return "stream"
}

// Changed has what is wanted read anew.
func (s *Stream) Changed() {
	if s != nil {
		s.supervisor.AccountsChanged()
	}
}

// Run keeps the stream connected, while it is this process's, from the stored position on,
// until ctx ends.
func (s *Stream) Run(ctx context.Context) {
	if s == nil {
		return
	}
	for {
		run, end, err := s.turn.begin(ctx)
		if err != nil {
			return
		}
		s.run(run)
		end()
	}
}

// joining is how long a stream waits for what was set before Run: of accounts and queries
// that join later it would not bring what came since its position.
const joining = 50 * time.Millisecond

func (s *Stream) run(ctx context.Context) {
	select {
	case <-time.After(joining):
	case <-ctx.Done():
		return
	}
	position, err := s.cfg.Position(ctx, s.target())
	if err != nil { // polls find what came since
		s.cfg.Logger.Error("cannot read the stream's position", "error", err)
	} else {
		s.positions.Begin(position)
	}
	s.supervisor.Run(ctx)
}

// Done takes note of posts that are dealt with, by their numbers.
func (s *Stream) Done(numbers []uint64) { s.positions.Done(numbers) }

// Position is what to commit with some posts; ok is false when it is in the journal
// already.
func (s *Stream) Position(numbers []uint64) (target, position string, ok bool) {
	if s == nil || s.turn.off.Load() {
		return "", "", false
	}
	position, ok = s.positions.With(numbers)
	return s.target(), position, ok
}

// Stored takes note that a position is in the journal.
func (s *Stream) Stored(position string) { s.positions.Stored(position) }

// askAtOnce is how many slots a shard is asked for at a time, so that polls do not wait.
const askAtOnce = 4096

// wanted are the accounts or queries whose posts are wanted.
func (s *Stream) wanted(ctx context.Context) (list []fetcher.Account, err error) {
	for _, sh := range s.cfg.Shards() {
		for from, more := int32(0), true; more; from += askAtOnce {
			err := sh.AskStreamed(ctx, s.cfg.Kind, func(c Covered) {
				more = c.Named(from, askAtOnce, func(a fetcher.Account) { list = append(list, a) })
			})
			if err != nil { // list may still be written
				return nil, err
			}
		}
	}
	return list, nil
}

// Post, Cover, Gap and Trust hand to the shards what the stream tells: see sink.
func (s *Stream) Post(number uint64, name string, post *fetcher.Tweet, at time.Time) {
	p := poll.Push{Number: number, Post: *post, At: at}
	s.cfg.ShardOf(name).Streamed(s.cfg.Kind, func(c Covered) {
		if !c.Push(name, p) {
			s.positions.Done([]uint64{number})
		}
	})
}

func (s *Stream) Cover(list []fetcher.Account, unbroken bool) {
	s.each(list, func(c Covered, names []string, now time.Time) { c.Cover(names, unbroken, now) })
}

func (s *Stream) Gap(list []fetcher.Account) {
	s.each(list, func(c Covered, names []string, now time.Time) { c.Gap(names, list == nil, now) })
}

func (s *Stream) Trust(trusted bool) {
	s.each(nil, func(c Covered, _ []string, _ time.Time) { c.Trust(trusted) })
}

// each calls fn on each shard, with those of the accounts or queries that it owns.
func (s *Stream) each(list []fetcher.Account, fn func(c Covered, names []string, now time.Time)) {
	now := s.cfg.Now()
	names := map[Shard][]string{}
	for _, a := range list {
		sh := s.cfg.ShardOf(a.Username)
		names[sh] = append(names[sh], a.Username)
	}
	for _, sh := range s.cfg.Shards() {
		mine := names[sh]
		sh.Streamed(s.cfg.Kind, func(c Covered) { fn(c, mine, now) })
	}
}
