package push

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// signal handles one signal of a connection.
func (s *Supervisor) signal(ctx context.Context, l *link, sig *fetcher.Signal) error {
	s.cfg.Billed(sig.Billed)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if sig.Kind == fetcher.SignalPost {
		return s.post(ctx, l, sig)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	l.last = now
	if sig.Kind != fetcher.SignalUp && sig.Kind != fetcher.SignalGap {
		s.heard(l)
	}
	switch sig.Kind {
	case fetcher.SignalUp:
		l.upAt = now
		covered := s.covered(sig)
		s.cover(covered, sig.Resumed && s.unbroken)
		s.unbroken = true
		s.cfg.health.connected(len(covered))
		if sig.Resumed {
			s.cfg.health.count(func(st *Stats) { st.Resumes++ })
		}
		s.trust()
		s.cfg.Logger.Info("stream is up", s.noun(), len(covered), "resumed", sig.Resumed)
	case fetcher.SignalAccounts:
		covered := s.covered(sig)
		s.cover(covered, true)
		s.cfg.health.count(func(st *Stats) { st.Accounts = int64(len(covered)) })
	case fetcher.SignalGap:
		s.cfg.health.count(func(st *Stats) { st.Gaps++ })
		l.gap.add(s.covered(sig))
	case fetcher.SignalEdit:
		s.cfg.health.count(func(st *Stats) { st.Edits++ })
	case fetcher.SignalDelete:
		s.cfg.health.count(func(st *Stats) { st.Deletes++ })
	case fetcher.SignalHeartbeat:
		if !l.beat.IsZero() {
			l.rhythm = max(l.rhythm, now.Sub(l.beat))
			s.rhythm = l.rhythm
		}
		l.beat = now
	}
	s.cfg.positions.Pass(sig.Position)
	return nil
}

// heard records that a connection has sent something since it was accepted. The caller holds s.mu.
func (s *Supervisor) heard(l *link) {
	if l.alive || l.upAt.IsZero() {
		return
	}
	l.alive, s.dumb = true, false
	s.cfg.health.heard()
	s.trust()
}

// cover passes the accounts that the stream covers to the sink. The caller holds s.mu.
func (s *Supervisor) cover(accounts []fetcher.Account, unbroken bool) {
	s.covering = slices.Clone(accounts)
	s.cfg.sink.Cover(accounts, unbroken)
}

// post handles a post.
func (s *Supervisor) post(ctx context.Context, l *link, sig *fetcher.Signal) error {
	now := s.cfg.Now()
	s.mu.Lock()
	l.last, s.mute = now, 0
	s.heard(l)
	names := s.whose(sig)
	s.mu.Unlock()
	if len(names) == 0 {
		s.cfg.health.count(func(st *Stats) { st.Strangers++ })
		s.cfg.positions.Pass(sig.Position)
		return nil
	}
	for i, name := range names {
		position := ""
		if i == len(names)-1 {
			position = sig.Position
		}
		number, err := s.add(ctx, l, position)
		if err != nil {
			return err
		}
		if i == 0 {
			s.cfg.health.Pushed(sig.Post, now)
		}
		post := *sig.Post
		s.cfg.sink.Post(number, name, &post, now)
	}
	return nil
}

// whose returns the accounts or queries that a post is for. The caller holds s.mu.
func (s *Supervisor) whose(sig *fetcher.Signal) []string {
	switch {
	case sig.Post == nil:
		return nil
	case s.cfg.Kind == poll.Queries:
		return sig.Queries
	case len(sig.Accounts) > 0:
		names := make([]string, len(sig.Accounts))
		for i := range sig.Accounts {
			names[i] = sig.Accounts[i].Username
		}
		return names
	}
	if names := s.names[sig.Post.UserID]; len(names) > 0 {
		return names
	}
	if name := strings.TrimPrefix(sig.Post.Username, "@"); name != "" {
		return []string{name}
	}
	return nil
}

// noun returns the log's word for the targets that the stream covers.
func (s *Supervisor) noun() string {
	if s.cfg.Kind == poll.Queries {
		return "queries"
	}
	return "accounts"
}

// add adds a post to Positions. It waits while too many posts are not committed. Nothing is read
// from the connection in this time, so it does not count as silent.
func (s *Supervisor) add(ctx context.Context, l *link, position string) (number uint64, err error) {
	s.mu.Lock()
	l.waits = true
	s.mu.Unlock()
	number, err = s.cfg.positions.Add(ctx, position)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.waits = false
	now := s.cfg.Now()
	if now.Sub(l.last) > tick {
		l.beat = time.Time{} // heartbeats were delayed, too
	}
	l.last = now
	return number, err
}
