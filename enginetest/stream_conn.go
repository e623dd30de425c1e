package enginetest

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// errDisconnected ends a connection that a fault breaks.
var errDisconnected = errors.New("enginetest: the stream was disconnected")

// streamConnection is a Stream call under way.
type streamConnection struct {
	streamer *PlatformStreamer
	bell     chan struct{}

	// All below is guarded by the platform's mutex.
	wanted  map[*account]bool
	queries queried
	next    int       // in the log
	beat    time.Time // when the next heartbeat is due; zero means never

	breaksAt, halfOpensAt, stallsAt time.Time // by chance; zero is never
	broken, silent, stalled         bool
}

// connect accepts a connection, or refuses it.
func (s *PlatformStreamer) connect(q fetcher.StreamQuery) (*streamConnection, fetcher.Signal, error) {
	defer s.locked()()
	now := s.platform.cfg.Now()
	s.advance(now)
	f := &s.cfg.Faults
	// Every attempt draws the same number of random values.
	refused, clamped := s.links.Float64() < f.Refuse, s.links.Float64() < f.Clamp
	after := func(mean time.Duration) time.Time {
		d := s.links.ExpFloat64() * float64(mean)
		if mean == 0 {
			return time.Time{}
		}
		return now.Add(time.Duration(d))
	}
	c := &streamConnection{
		streamer: s, bell: make(chan struct{}, 1), next: len(s.log.events),
		breaksAt: after(f.DisconnectAfter), halfOpensAt: after(f.HalfOpenAfter), stallsAt: after(f.StallAfter),
	}
	if refused {
		s.stats.Refused++
		return nil, fetcher.Signal{}, &fetcher.StatusError{Code: 503, Detail: social.ServerErrorText}
	}
	s.stats.Connects++
	up := fetcher.Signal{Kind: fetcher.SignalUp, At: now}
	if q.QueryChanges != nil {
		up.Queries = c.ask(q.Queries)
	} else {
		up.Accounts = c.want(q.Accounts)
	}
	if from, ok := s.index(q.Position); ok {
		first := s.forgotten
		if clamped {
			first = len(s.log.events)
		}
		s.stats.Resumes++
		c.next = max(from, first)
		up.Resumed = from >= first || s.cfg.ClampSilently
		if from < first {
			s.stats.Clamped++
		}
	}
	up.Position = s.position(c.next)
	if s.cfg.HeartbeatEvery > 0 {
		c.beat = now.Add(s.cfg.HeartbeatEvery)
	}
	s.connections[c] = true
	return c, up, nil
}

func (c *streamConnection) close() {
	defer c.streamer.locked()()
	delete(c.streamer.connections, c)
}

// want replaces the subscribed accounts, and returns those that are on the platform.
func (c *streamConnection) want(accounts []fetcher.Account) []fetcher.Account {
	p := c.streamer.platform
	c.wanted = make(map[*account]bool, len(accounts))
	var told []fetcher.Account
	for _, named := range accounts {
		a := p.byID[named.UserID]
		if named.UserID == "" {
			a = p.byName[monitor.Key(named.Username)]
		}
		if a != nil {
			c.wanted[a] = true
			told = append(told, named)
		}
	}
	return told
}

// run emits until ctx ends, the connection breaks or emit returns an error.
func (c *streamConnection) run(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	changes, queries := q.Changes, q.QueryChanges
	at := make(chan time.Time) // closed, to continue immediately
	close(at)
	for {
		g, pause, err := c.step()
		if err != nil {
			return err
		}
		if g.Kind != 0 {
			if err := emit(g); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var wake <-chan time.Time = at
		var timer *time.Timer
		if pause != 0 {
			timer = time.NewTimer(pause)
			wake = timer.C
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case accounts, ok := <-changes:
			if !ok {
				changes = nil
				break
			}
			err = c.change(func() fetcher.Signal { return fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: c.want(accounts)} }, emit)
		case list, ok := <-queries:
			if !ok {
				queries = nil
				break
			}
			err = c.change(func() fetcher.Signal { return fetcher.Signal{Kind: fetcher.SignalAccounts, Queries: c.ask(list)} }, emit)
		case <-c.bell:
		case <-wake:
		}
		if timer != nil {
			timer.Stop()
		}
		if err != nil {
			return err
		}
	}
}

// change replaces the subscription and emits a signal of it, unless the connection is half-open.
func (c *streamConnection) change(subscribe func() fetcher.Signal, emit func(fetcher.Signal) error) error {
	s := c.streamer
	if s.cfg.Resubscribe {
		return fetcher.ErrResubscribe
	}
	unlock := s.locked()
	told, silent := subscribe(), c.silent
	unlock()
	if silent {
		return nil
	}
	return emit(told)
}

// longPause is the longest pause of a connection that waits only for the bell.
const longPause = 24 * time.Hour

// step returns the next signal. If there is none, g.Kind is 0 and pause is the time until the next.
func (c *streamConnection) step() (g fetcher.Signal, pause time.Duration, err error) {
	s := c.streamer
	defer s.locked()()
	now := s.platform.cfg.Now()
	s.advance(now)
	for _, f := range []struct {
		at     *time.Time
		strike func()
	}{{&c.breaksAt, c.disconnect}, {&c.halfOpensAt, c.halfOpen}, {&c.stallsAt, c.stall}} {
		if !f.at.IsZero() && !f.at.After(now) {
			*f.at = time.Time{}
			f.strike()
		}
	}
	switch {
	case c.silent:
		return g, longPause, nil
	case c.broken:
		return g, 0, errDisconnected
	}
	for !c.stalled && c.next < len(s.log.events) {
		c.next++
		if g, ok := c.signal(&s.log.events[c.next-1]); ok {
			return g, 0, nil
		}
	}
	if !c.beat.IsZero() && !c.beat.After(now) {
		c.beat = now.Add(s.cfg.HeartbeatEvery)
		s.stats.Heartbeats++
		return fetcher.Signal{Kind: fetcher.SignalHeartbeat, Position: s.position(c.next), At: now}, 0, nil
	}
	return g, c.idle(now), nil
}

// signal returns the signal for an event. It reports false if the connection does not send it.
func (c *streamConnection) signal(e *streamEvent) (fetcher.Signal, bool) {
	s := c.streamer
	g := fetcher.Signal{Kind: e.kind, Position: s.position(c.next), At: e.at}
	if c.queries == nil && !c.wanted[e.account] {
		return g, false
	}
	t := e.Post.current().tweet(social.Author{ID: e.account.ID, Name: e.account.Name})
	if !s.Brings(&t) {
		return g, false
	}
	if c.queries != nil {
		if g.Queries = c.queries.matched(&t); len(g.Queries) == 0 {
			return g, false
		}
	}
	switch e.kind {
	case fetcher.SignalPost:
		s.stats.Posts++
		g.Post = &t
	case fetcher.SignalEdit:
		s.stats.Edits++
		g.Post = &t
	case fetcher.SignalDelete:
		s.stats.Deletes++
		g.ID = t.ID
	}
	return g, true
}

// idle returns how long the connection has nothing to do unless the bell rings.
func (c *streamConnection) idle(now time.Time) time.Duration {
	pause := longPause
	until := func(at time.Time) {
		if !at.IsZero() {
			pause = min(pause, at.Sub(now))
		}
	}
	until(c.beat)
	until(c.breaksAt)
	until(c.halfOpensAt)
	until(c.stallsAt)
	if due := c.streamer.log.due; len(due) > 0 && !c.stalled {
		until(due[0].at)
	}
	return pause
}

// A half-open connection does not notice that it is broken.

func (c *streamConnection) disconnect() {
	if !c.broken && !c.silent {
		c.broken = true
		c.streamer.stats.Disconnects++
	}
}

func (c *streamConnection) halfOpen() {
	if !c.broken && !c.silent {
		c.silent = true
		c.streamer.stats.HalfOpens++
	}
}

func (c *streamConnection) stall() {
	if !c.broken && !c.silent && !c.stalled {
		c.stalled = true
		c.streamer.stats.Stalls++
	}
}
