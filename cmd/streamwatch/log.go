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
	o := &slog.HandlerOptions{Level: c.logLevel}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
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
