package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/streamwatch/streamwatch/detect/recorder"
)

// recordEvery is how often the recorder writes: what a kill loses of the last polls, at most.
const recordEvery = time.Second

// openRecorder returns the flight recorder of -recordings, nil without it.
func (c *config) openRecorder(log *slog.Logger) (*recorder.Recorder, error) {
	if c.recordings == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.recordings, 0o700); err != nil {
		return nil, fmt.Errorf("%s %q: %w", c.from.called("recordings"), c.recordings, err)
	}
	return recorder.New(recorder.Options{Dir: c.recordings, Every: recordEvery, Logger: log})
}

// record runs rec until stop is called, which waits for its last dump. rec may be nil.
func record(rec *recorder.Recorder) (stop func()) {
	if rec == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		_ = rec.Run(ctx) // it logs what it cannot write
	}()
	return func() {
		cancel()
		<-ran
	}
}

// serveRecording answers with what the recorder has now.
func serveRecording(rec *recorder.Recorder, log *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/gzip")
		h.Set("Content-Disposition", `attachment; filename="recording.jsonl.gz"`)
		h.Set("Cache-Control", "no-store")
		if err := rec.Dump(w); err != nil && r.Context().Err() == nil {
			log.Warn("serving a recording failed", "error", err)
			panic(http.ErrAbortHandler) // the client must not take it for whole
		}
	}
}
