package push

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// supervision sets up a Supervisor. What is said of accounts here holds for queries on a
// Roles.SearchStream, each an Account with its text as the Username.
type supervision struct {
	Config
	sink      sink
	health    *Health
	positions *Positions
	// accounts returns the accounts whose posts are wanted. An error means that the
	// detector stops.
	accounts func(context.Context) ([]fetcher.Account, error)
}

// sink gets what a stream tells. Its methods are called one at a time, and must not
// block.
type sink interface {
	// Cover says whose posts the stream brings from now on, and nobody else's; with
	// unbroken set, it has left out nothing of those whose posts it brought before.
	Cover(accounts []fetcher.Account, unbroken bool)
	// Gap says that the stream has left something out of these accounts, nil for all
	// that it covers: it covers them from now on.
	Gap(accounts []fetcher.Account)
	// Trust says whether the polls of these accounts may rest.
	Trust(trusted bool)
	// Post hands over a post. Its number is that of Positions; one that matches several
	// queries has a number for each.
	Post(number uint64, username string, post *fetcher.Tweet, at time.Time)
}

// Supervisor keeps a stream connected while there are accounts.
type Supervisor struct {
	cfg      supervision
	bell     batch.Bell // there is something to tell the connection or the sink
	accounts batch.Bell // they have changed

	mu       sync.Mutex
	wanted   []fetcher.Account
	names    map[string][]string // of those wanted, by id
	untold   bool                // wanted has changed since the connection was told
	trusted  bool                // as the sink knows
	unbroken bool                // nothing was left out since the sink was told of accounts
	mute     int                 // connections cut in a row because only polls found posts
	covering []fetcher.Account   // whose posts the connection brings, as the sink was told
}

// link is one connection.
type link struct {
	cancel  context.CancelCauseFunc
	changes changes
	upAt    time.Time     // when the platform accepted it; zero before
	last    time.Time     // when anything came
	beat    time.Time     // the last heartbeat
	rhythm  time.Duration // the longest time between two heartbeats; 0 when there are none
	gap     gap           // of which the sink was not told
	waits   bool          // a post has come, and there is no room for it yet
	cut     bool          // by watch; the Streamer may take its time to return
}

// gap is what a connection has left out: something of some accounts, or of all.
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

// Times by which a connection is judged.
const (
	tick = time.Second
	// settled is how long a connection has to last to count as one that worked.
	settled = 30 * time.Second
	// longestWait is how long a platform may ask to wait before the next connection.
	longestWait = time.Hour
	// acceptWithin bounds the wait for the platform to accept the subscription, where
	// there are accounts.
	acceptWithin = 5 * time.Minute
	// leastQuiet is how long a stream with heartbeats may be silent at least.
	leastQuiet = 15 * time.Second
	// mostUnheard is how many posts a stream may miss in a row, twice as many after each time
	// that a new connection brought none either, mostMute times at most.
	mostUnheard = 3
	mostMute    = 6
)

// errSilent ends a connection on which nothing comes, and errClosed one that may not be
// open any longer.
var (
	errSilent = errors.New("detect: stream is silent")
	errClosed = errors.New("detect: stream may not be open: the day's Cost.Limit is reached")
)

func newSupervisor(cfg supervision) *Supervisor {
	s := &Supervisor{cfg: cfg, bell: batch.NewBell(), accounts: batch.NewBell(), names: map[string][]string{}}
	cfg.health.changed = s.bell.Ring
	return s
}

// keepConnected connects again and again while there are accounts.
func (s *Supervisor) keepConnected(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		if !s.waitForAccounts(ctx) {
			return
		}
		if wait := s.cfg.Closed(); wait > 0 {
			select {
			case <-time.After(min(wait, tick)): // a larger share of the limit ends it sooner
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

// connect opens one connection and follows it to its end.
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
			_ = err.Error() // an Error that panics, as of a nil pointer, does so here
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

// disconnected ends a connection, and returns how long it was up.
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

// trust tells the sink when the stream gains or loses trust. s.mu is held.
func (s *Supervisor) trust() {
	if trusted := s.cfg.health.Trusted(); trusted != s.trusted {
		s.trusted = trusted
		s.cfg.sink.Trust(trusted)
	}
}

// tellGap tells the sink what the connection has left out. It is called once a tick and not
// for each signal: a stream may report gaps very often, and the sink goes through all
// accounts. s.mu is held.
func (s *Supervisor) tellGap(l *link) {
	switch {
	case l.gap.all:
		s.cfg.sink.Gap(nil)
	case len(l.gap.accounts) > 0:
		s.cfg.sink.Gap(slices.Collect(maps.Keys(l.gap.accounts)))
	}
	l.gap = gap{}
}

// follow hands the accounts to the connection when they have changed.
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

// watch is called once a tick: it tells of a gap, and cuts a connection that is open and dead.
func (s *Supervisor) watch(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trust()
	s.tellGap(l)
	if l.waits || l.cut {
		return
	}
	if s.cfg.Closed() > 0 {
		s.cut(l, errClosed)
		return
	}
	now := s.cfg.Now()
	dead := false
	switch {
	case l.upAt.IsZero():
		dead = now.Sub(l.last) > acceptWithin
	case l.rhythm > 0 && now.Sub(l.last) > max(3*l.rhythm, leastQuiet):
		dead = true
	case s.cfg.health.Unheard() >= mostUnheard<<min(s.mute, mostMute):
		dead = true
		s.mute++
	}
	if dead {
		s.cfg.health.count(func(st *Stats) { st.Silences++ })
		s.cut(l, errSilent)
	}
}

// cut ends a connection. s.mu is held.
func (s *Supervisor) cut(l *link, why error) {
	l.cut = true
	s.cfg.health.broken()
	s.trust()
	l.cancel(why)
}
