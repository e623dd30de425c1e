package sparselog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// handler implements slog.Handler.
type handler struct {
	slog.Handler
	with string // the attributes of With
	*repeats
}

type repeats struct {
	mu   sync.Mutex
	last map[string]*repeat // by message
}

// repeat is a message that was logged, a minute ago or less.
type repeat struct {
	at      time.Time
	more    int         // that were not logged
	record  slog.Record // the last of them
	handler slog.Handler
}

const perMessage = time.Minute

// New returns a Handler that logs through next.
func New(next slog.Handler) slog.Handler {
	return &handler{Handler: next, repeats: &repeats{last: map[string]*repeat{}}}
}

// WithAttrs implements slog.Handler.
func (s *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{s.Handler.WithAttrs(attrs), s.with + fmt.Sprint(attrs), s.repeats}
}

// WithGroup implements slog.Handler.
func (s *handler) WithGroup(name string) slog.Handler {
	return &handler{s.Handler.WithGroup(name), s.with + name, s.repeats}
}

// Handle implements slog.Handler.
func (s *handler) Handle(ctx context.Context, r slog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.last {
		switch {
		case r.Time.Sub(one.at) < perMessage:
		case one.more == 0:
			delete(s.last, key)
		default:
			one.record.AddAttrs(slog.Int("repeated", one.more))
			if err := one.handler.Handle(ctx, one.record); err != nil {
				return err
			}
			one.at, one.more = one.record.Time, 0
		}
	}
	failed, request := false, false
	r.Attrs(func(a slog.Attr) bool {
		failed, request = failed || a.Key == "error", request || a.Key == "request_id"
		return true
	})
	if failed && !request && r.Level >= slog.LevelWarn {
		one := s.last[s.with+r.Message]
		if one != nil && r.Time.Sub(one.at) < perMessage {
			one.more, one.record, one.handler = one.more+1, r.Clone(), s.Handler
			return nil
		}
		s.last[s.with+r.Message] = &repeat{at: r.Time}
	}
	return s.Handler.Handle(ctx, r)
}
