package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// supervision sets up a Supervisor. For a Roles.SearchStream, each account here is a query: its
// Username is the query's text.
type supervision struct {
	Config
	sink      sink
	health    *Health
	positions *Positions
	// accounts returns the accounts whose posts are wanted. An error means that the detector stops.
	accounts func(context.Context) ([]fetcher.Account, error)
}

// sink receives the signals of a stream. Its methods are called one at a time, and must not
// block.
type sink interface {
	// Cover sets the accounts that the stream covers from now on. With unbroken set, the stream has
	// missed no posts of the accounts that it covered before.
	Cover(accounts []fetcher.Account, unbroken bool)
	// Gap reports that the stream has missed posts of these accounts, or of all covered accounts if
	// the list is nil. The stream covers them only from now on.
	Gap(accounts []fetcher.Account)
	// Trust sets whether these accounts may be polled as rarely as AuditEvery.
	Trust(trusted bool)
	// Post passes on a post. Its number comes from Positions. A post that matches several queries
	// has a number for each.
	Post(number uint64, username string, post *fetcher.Tweet, at time.Time)
}

// Supervisor keeps a stream connected while there are accounts.
type Supervisor struct {
	cfg      supervision
	bell     batch.Bell // rung when there is news for the connection or the sink
	accounts batch.Bell // rung when the accounts have changed

	mu       sync.Mutex
	wanted   []fetcher.Account
	names    map[string][]string // usernames of wanted by account id
	untold   bool                // wanted has changed since it was passed to the connection
	trusted  bool                // last value passed to the sink
	unbroken bool                // nothing was missed since the sink got the accounts
	rhythm   time.Duration       // of the last connection that had one
	dumb     bool                // a connection that sent nothing was logged; ends with the next signal
	mute     int                 // consecutive connections cut because only polls found posts
	covering []fetcher.Account   // accounts that the connection covers, as last passed to the sink
}

// link is one connection.
type link struct {
	cancel  context.CancelCauseFunc
	changes changes
	upAt    time.Time     // when the platform accepted the connection; zero before
	last    time.Time     // time of the last signal
	alive   bool          // it has sent something after upAt
	beat    time.Time     // time of the last heartbeat
	rhythm  time.Duration // longest time between two heartbeats; 0 if there are none
	gap     gap           // not passed to the sink yet
	waits   bool          // a post was received and waits for room in Positions
	cut     bool          // ended by watch; the Streamer may take some time to return
}

// gap records where a connection has missed posts: some accounts, or all.
type gap struct {
	accounts map[fetcher.Account]bool
	all      bool
}

func (g *gap) add(accounts []fetcher.Account) {
	if len(accounts) == 0 {
		g.all, g.accounts = true, nil
	}
	if g.all {
		return
	}
	if g.accounts == nil {
		g.accounts = map[fetcher.Account]bool{}
	}
	for _, a := range accounts {
		g.accounts[a] = true
	}
}

// Limits by which a connection is judged.
const (
	tick = time.Second
	// settled is how long a connection must last to count as one that worked.
	settled = 30 * time.Second
	// longestWait limits the wait before the next connection if the platform asks for a wait.
	longestWait = time.Hour
	// acceptWithin is how long the platform may take to accept the subscription, if there are
	// accounts.
	acceptWithin = 5 * time.Minute
	// leastQuiet is the shortest silence after which a stream with heartbeats is disconnected.
	leastQuiet = 15 * time.Second
	// longestRhythm is the longest silence after a first heartbeat.
	longestRhythm = 15 * time.Minute
	// dumbAfter is how long a connection may send nothing at all without a log message.
	dumbAfter = 5 * time.Minute
	// mostUnheard is how many posts in a row a stream may miss before it is disconnected. The
	// number doubles, at most mostMute times, each time that a new connection sends no post either.
	mostUnheard = 3
	mostMute    = 6
)

// errSilent ends a connection that sends nothing. errClosed ends one because no calls are allowed.
var (
	errSilent = errors.New("detect: stream is silent")
	errClosed = errors.New("detect: stream may not be open: the day's Cost.Limit is reached")
)

func newSupervisor(cfg supervision) *Supervisor {
	s := &Supervisor{cfg: cfg, bell: batch.NewBell(), accounts: batch.NewBell(), names: map[string][]string{}}
	cfg.health.changed = s.bell.Ring
	return s
}

// keepConnected connects again and again while accounts are wanted.
func (s *Supervisor) keepConnected(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		if !s.waitForAccounts(ctx) {
			return
		}
		if wait := s.cfg.Closed(); wait > 0 {
			select {
			case <-time.After(min(wait, tick)): // an increased share of the limit may end the wait early
			case <-ctx.Done():
			}
			continue
		}
		lasted, err := s.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, fetcher.ErrUnsupported) {
			s.cfg.Logger.Warn("stream is off", "error", err)
			return
		}
		var wait time.Duration
		switch {
		case errors.Is(err, fetcher.ErrResubscribe):
			wait = tick
		default:
			if lasted >= settled {
				failures = 0
			}
			failures++
			s.cfg.health.count(func(st *Stats) { st.Disconnects++ })
			wait = max(s.cfg.Backoff(failures), min(fetcher.RetryAfter(err), longestWait))
			s.cfg.Logger.Warn("stream broke off", "lasted", lasted, "retry in", max(wait, s.cfg.Closed()), "error", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// waitForAccounts waits until accounts are wanted. It returns false when ctx ends.
func (s *Supervisor) waitForAccounts(ctx context.Context) bool {
	for {
		s.mu.Lock()
		n := len(s.wanted)
		s.mu.Unlock()
		if n > 0 {
			return true
		}
		select {
		case <-s.bell:
		case <-ctx.Done():
			return false
		}
	}
}

// connect opens one connection and handles it to its end.
func (s *Supervisor) connect(ctx context.Context) (lasted time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	now := s.cfg.Now()
	l := &link{cancel: cancel, changes: newChanges(s.cfg.Kind == poll.Queries), last: now}
	s.mu.Lock()
	s.untold = false
	q := l.changes.query(s.wanted, s.cfg.positions.Resume())
	s.mu.Unlock()

	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Logger.Error("streamer panicked", "panic", v, "stack", string(debug.Stack()))
				err = fmt.Errorf("detect: streamer panicked: %v", v)
			}
			ended <- err
		}()
		err = s.cfg.Streamer.Stream(ctx, q, func(sig fetcher.Signal) error { return s.signal(ctx, l, &sig) })
		if err != nil {
			_ = err.Error() // if Error panics, as on a nil pointer, it must do so here
		}
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			if cause := context.Cause(ctx); cause == errSilent || cause == errClosed {
				err = cause
			}
			return s.disconnected(l), err
		case <-ticker.C:
			s.watch(l)
		case <-s.bell:
			s.follow(l)
		}
	}
}

// disconnected handles the end of a connection, and returns how long it was up.
func (s *Supervisor) disconnected(l *link) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellGap(l)
	s.covering = nil
	s.cfg.health.broken()
	s.trust()
	if l.upAt.IsZero() {
		return 0
	}
	return s.cfg.Now().Sub(l.upAt)
}

// trust notifies the sink when the stream becomes trusted or ceases to be. The caller holds s.mu.
func (s *Supervisor) trust() {
	if trusted := s.cfg.health.Trusted(); trusted != s.trusted {
		s.trusted = trusted
		s.cfg.sink.Trust(trusted)
	}
}

// tellGap passes the connection's gap to the sink. It is called once per tick and not for each
// signal, because a stream may report gaps very often and the sink goes through all accounts. The
// caller holds s.mu.
func (s *Supervisor) tellGap(l *link) {
	switch {
	case l.gap.all:
		s.cfg.sink.Gap(nil)
	case len(l.gap.accounts) > 0:
		s.cfg.sink.Gap(slices.Collect(maps.Keys(l.gap.accounts)))
	}
	l.gap = gap{}
}

// follow passes the accounts to the connection after they have changed.
func (s *Supervisor) follow(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trust()
	if !s.untold {
		return
	}
	s.untold = false
	l.changes.tell(s.wanted)
}

// watch is called once per tick. It passes on gaps, and ends a connection that is open and dead.
func (s *Supervisor) watch(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trust()
	s.tellGap(l)
	if l.waits || l.cut {
		return
	}
	now := s.cfg.Now()
	if !l.alive && !s.dumb && !l.upAt.IsZero() && now.Sub(l.last) > dumbAfter {
		s.dumb = true
		s.cfg.Logger.Warn("stream sends nothing, not even heartbeats: polling as without it", "for", now.Sub(l.last))
	}
	dead := false
	switch {
	case s.cfg.Closed() > 0:
		s.cut(l, errClosed)
	case l.upAt.IsZero():
		dead = now.Sub(l.last) > acceptWithin
	case now.Sub(l.last) > s.longestQuiet(l):
		dead = true
		if !l.alive {
			s.rhythm *= 2 // the platform may have no heartbeats any more
		}
	case s.cfg.health.Unheard() >= mostUnheard<<min(s.mute, mostMute):
		dead = true
		s.mute++
	}
	if dead {
		s.cfg.health.count(func(st *Stats) { st.Silences++ })
		s.cut(l, errSilent)
	}
}

// longestQuiet returns how long a connection may be silent. Before its second heartbeat, the rhythm
// of earlier connections counts. Without any heartbeat, it may be silent for ever. The caller holds
// s.mu.
func (s *Supervisor) longestQuiet(l *link) time.Duration {
	switch rhythm := cmp.Or(l.rhythm, s.rhythm); {
	case rhythm > 0:
		return max(3*rhythm, leastQuiet)
	case !l.beat.IsZero():
		return longestRhythm
	}
	return math.MaxInt64
}

// cut ends a connection. The caller holds s.mu.
func (s *Supervisor) cut(l *link, why error) {
	l.cut = true
	s.cfg.health.broken()
	s.trust()
	l.cancel(why)
}
