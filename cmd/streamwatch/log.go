package main

import (
	"bytes"
	"context"
	"io"
	stdlog "log"
	"log/slog"

	"github.com/streamwatch/streamwatch/internal/sparselog"
)

// logger writes the log to w, in the format of log.
func logger(c config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: withTextDurations}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if c.Log == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(sparselog.New(h))
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
