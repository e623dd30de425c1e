package main

import (
	"bytes"
	"context"
	"io"
	stdlog "log"
	"log/slog"
)

// logger writes the log to w, in the format of -log.
func logger(c config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.logLevel, ReplaceAttr: withTextDurations}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// withTextDurations has a duration as 1.5s in JSON, too, which else has its nanoseconds.
func withTextDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// connectionLog gets what an http.Server has to say. Whoever scans ports fails
// TLS handshakes, which concerns no operator.
func connectionLog(log *slog.Logger) *stdlog.Logger {
	return stdlog.New(handshakes{log}, "", 0)
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
