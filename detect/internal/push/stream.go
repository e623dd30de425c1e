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
	// Kind is the kind of targets that the stream covers.
	Kind       poll.Kind
	AuditEvery time.Duration
	// Shards returns all shards, and ShardOf the owner of an account or query.
	Shards  func() []Shard
	ShardOf func(name string) Shard
	// Position reads the position to resume from in the journal.
	Position func(ctx context.Context, target string) (position string, err error)
	// Store queues a commit that includes the position: see Positions.With.
	Store func()
	// Billed is called with the platform's charges for a signal.
	Billed func(fetcher.Billed)
	// Closed returns how long no connection is allowed, 0 if one is allowed now.
	Closed func() time.Duration
	// Backoff returns the wait after the n-th consecutive failure, n from 1.
	Backoff func(n int) time.Duration
	Logger  *slog.Logger
	Now     func() time.Time
}

// Shard owns a part of the accounts or queries.
type Shard interface {
	// Streamed calls fn on the shard's goroutine. AskStreamed does so too and waits for fn to
	// return; after an error fn may still be called.
	Streamed(kind poll.Kind, fn func(Covered))
	AskStreamed(ctx context.Context, kind poll.Kind, fn func(Covered)) error
}

// Covered is the set of a shard's targets that a stream covers. Names are names of accounts, or
// texts of queries.
type Covered interface {
	// Cover sets the list of names that the stream covers from now on. If unbroken is set, names
	// that were on the previous list stay covered since then.
	Cover(names []string, unbroken bool, now time.Time)
	// Gap records that the stream has missed posts, of the names or, if all is set, of all targets.
	// These are covered only from now on. Named targets are polled immediately, covered or not.
	Gap(names []string, all bool, now time.Time)
	// Trust sets whether covered targets may be polled as rarely as AuditEvery.
	Trust(trusted bool)
	// Named calls fn for each wanted account or query in at most n slots beginning at from. It
	// reports whether there are further slots.
	Named(from, n int32, fn func(wanted fetcher.Account)) (more bool)
	// Push handles a post, and returns false if nobody wants it.
	Push(name string, p poll.Push) bool
}

// Stream handles the posts of a Streamer. Without a Streamer it is nil. Methods that may be called
// on a nil Stream do nothing.
type Stream struct {
	cfg        Config
	health     *Health
	positions  *Positions
	supervisor *Supervisor
	turn       turn
}

// New returns a Stream. It starts nothing: see Run.
func New(cfg Config) *Stream {
	s := &Stream{cfg: cfg, turn: turn{bell: batch.NewBell()}, positions: NewPositions(), health: NewHealth(cfg.Streamer.Brings, cfg.AuditEvery, cfg.Now)}
	s.supervisor = newSupervisor(supervision{Config: cfg, sink: s, health: s.health, positions: s.positions, accounts: s.wanted})
	return s
}

// Health returns the quality of the stream.
func (s *Stream) Health() *Health { return s.health }

// Stats returns the present counters.
func (s *Stream) Stats() (st Stats) {
	if s == nil {
		return st
	}
	return s.health.Stats()
}

// target returns the stream's name in the journal. Accounts and queries have names with other
// prefixes.
func (s *Stream) target() string {
	if s.cfg.Kind == poll.Queries {
		return "stream:queries"
	}
	return "stream"
}

// Changed makes the stream read the wanted accounts or queries again.
func (s *Stream) Changed() {
	if s != nil {
		s.supervisor.AccountsChanged()
	}
}

// Run keeps the stream connected until ctx ends, while this process has the stream. It begins at
// the stored position.
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

// joining is how long a stream waits for the targets that are set before Run. If a target joined
// later, the stream would not send its posts since the stored position.
const joining = 50 * time.Millisecond

func (s *Stream) run(ctx context.Context) {
	select {
	case <-time.After(joining):
	case <-ctx.Done():
		return
	}
	position, err := s.cfg.Position(ctx, s.target())
	if err != nil { // polls find the posts since then
		s.cfg.Logger.Error("cannot read the stream's position", "error", err)
	} else {
		s.positions.Begin(position)
	}
	s.supervisor.Run(ctx)
}

// Done records that posts are dealt with, by their numbers.
func (s *Stream) Done(numbers []uint64) { s.positions.Done(numbers) }

// Position returns the position to commit with the given posts. ok is false if the journal already
// has that position.
func (s *Stream) Position(numbers []uint64) (target, position string, ok bool) {
	if s == nil || s.turn.off.Load() {
		return "", "", false
	}
	position, ok = s.positions.With(numbers)
	return s.target(), position, ok
}

// Stored records that a position is in the journal.
func (s *Stream) Stored(position string) { s.positions.Stored(position) }

// askAtOnce is how many slots a shard looks at per message. It is low because polls wait meanwhile.
const askAtOnce = 4096

// wanted returns the accounts or queries whose posts are wanted.
func (s *Stream) wanted(ctx context.Context) (list []fetcher.Account, err error) {
	for _, sh := range s.cfg.Shards() {
		for from, more := int32(0), true; more; from += askAtOnce {
			err := sh.AskStreamed(ctx, s.cfg.Kind, func(c Covered) {
				more = c.Named(from, askAtOnce, func(a fetcher.Account) { list = append(list, a) })
			})
			if err != nil { // the shard may still write to list
				return nil, err
			}
		}
	}
	return list, nil
}

// Post, Cover, Gap and Trust implement sink. They pass the stream's signals to the shards.
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

// each calls fn on each shard, with the names in list that belong to the shard.
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
