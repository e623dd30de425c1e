package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"sync"
	"time"
)

// logger writes the log to w, in the format of log.
func logger(c config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: withTextDurations}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if c.Log == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(&sparse{Handler: h, repeats: &repeats{last: map[string]*repeat{}}})
}

// withTextDurations writes durations as text, such as 1.5s. In JSON they would otherwise be
// nanoseconds.
func withTextDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// connectionLog returns an http.Server's ErrorLog that writes to log. It logs failed TLS handshakes at
// debug level, since most come from port scanners.
func connectionLog(log *slog.Logger) *stdlog.Logger {
	return stdlog.New(handshakes{log}, "", 0)
}

// takeStandardLog has the lines of package log, in which net/http and other packages tell what they
// return to nobody, in log.
func takeStandardLog(log *slog.Logger) {
	stdlog.SetFlags(0)
	stdlog.SetOutput(handshakes{log})
}

type handshakes struct{ log *slog.Logger }

func (h handshakes) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.Contains(line, []byte("TLS handshake error")) {
		level = slog.LevelDebug
	}
	h.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}

// sparse logs warnings with an error, such as that commits fail, at most once a minute for each
// message. It counts the others: a minute later the last one is logged with their number as
// "repeated". Requests have all their lines.
type sparse struct {
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

// WithAttrs implements slog.Handler.
func (s *sparse) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sparse{s.Handler.WithAttrs(attrs), s.with + fmt.Sprint(attrs), s.repeats}
}

// WithGroup implements slog.Handler.
func (s *sparse) WithGroup(name string) slog.Handler {
	return &sparse{s.Handler.WithGroup(name), s.with + name, s.repeats}
}

// Handle implements slog.Handler.
func (s *sparse) Handle(ctx context.Context, r slog.Record) error {
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
