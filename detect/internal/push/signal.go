package push

import (
	"context"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// signal takes one signal of a connection.
func (s *Supervisor) signal(ctx context.Context, l *link, sig *fetcher.Signal) error {
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
	switch sig.Kind {
	case fetcher.SignalUp:
		l.upAt, l.post = now, now
		s.cfg.Sink.Cover(sig.Accounts, sig.Resumed && s.unbroken)
		s.unbroken = true
		s.accounts.Ring() // what is expected of them
		s.cfg.Health.connected(len(sig.Accounts))
		if sig.Resumed {
			s.cfg.Health.count(func(st *Stats) { st.Resumes++ })
		}
		s.trust()
		s.cfg.Logger.Info("stream is up", "accounts", len(sig.Accounts), "resumed", sig.Resumed)
	case fetcher.SignalAccounts:
		s.cfg.Sink.Cover(sig.Accounts, true)
		s.accounts.Ring()
		s.cfg.Health.count(func(st *Stats) { st.Accounts = int64(len(sig.Accounts)) })
	case fetcher.SignalGap:
		s.cfg.Health.count(func(st *Stats) { st.Gaps++ })
		l.gap.add(sig.Accounts)
		if len(sig.Accounts) > 0 { // they have posted
			l.post, s.mute = now, 0
		}
	case fetcher.SignalEdit:
		s.cfg.Health.count(func(st *Stats) { st.Edits++ })
	case fetcher.SignalDelete:
		s.cfg.Health.count(func(st *Stats) { st.Deletes++ })
	case fetcher.SignalHeartbeat:
		if !l.beat.IsZero() {
			l.rhythm = max(l.rhythm, now.Sub(l.beat))
		}
		l.beat = now
	}
	s.cfg.Positions.Pass(sig.Position)
	return nil
}

// post takes a post.
func (s *Supervisor) post(ctx context.Context, l *link, sig *fetcher.Signal) error {
	now := s.cfg.Now()
	s.mu.Lock()
	l.last, l.post, s.mute = now, now, 0
	var username string
	if sig.Post != nil {
		if username = s.names[sig.Post.UserID]; username == "" {
			username = strings.TrimPrefix(sig.Post.Username, "@")
		}
	}
	s.mu.Unlock()
	if username == "" {
		s.cfg.Health.count(func(st *Stats) { st.Strangers++ })
		s.cfg.Positions.Pass(sig.Position)
		return nil
	}
	number, err := s.add(ctx, l, sig.Position)
	if err != nil {
		return err
	}
	s.cfg.Health.Pushed(sig.Post, now)
	post := *sig.Post
	s.cfg.Sink.Post(number, username, &post, now)
	return nil
}

// add waits for room among the posts that are not committed. Meanwhile the connection
// is not silent: nobody listens.
func (s *Supervisor) add(ctx context.Context, l *link, position string) (number uint64, err error) {
	s.mu.Lock()
	l.waits = true
	s.mu.Unlock()
	number, err = s.cfg.Positions.Add(ctx, position)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.waits = false
	now := s.cfg.Now()
	if now.Sub(l.last) > tick {
		l.beat = time.Time{} // heartbeats had to wait, too
	}
	l.last, l.post = now, now
	return number, err
}
