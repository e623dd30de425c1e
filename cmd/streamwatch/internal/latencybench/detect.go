package latencybench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// hello is the line that a detector writes when it looks for posts, or cannot.
type hello struct {
	WebSocket string `json:"websocket,omitempty"` // a URL
	Error     string `json:"error,omitempty"`
}

// Detector is streamwatch bench detector, which bench latency starts: this module's engine. It
// reads its configuration from in, in JSON, writes a hello to out, and runs until in ends,
// whatever ctx does: so it ends when the runner is killed.
func Detector(ctx context.Context, in io.Reader, out, logs io.Writer) error {
	var cfg detectorConfig
	lines := json.NewDecoder(in)
	if err := lines.Decode(&cfg); err != nil {
		return fmt.Errorf("detector: want a configuration on the standard input: %w", err)
	}
	log := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	say := json.NewEncoder(out)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := detect(ctx, cfg, log, func(websocket string) { _ = say.Encode(hello{WebSocket: websocket}) })
		if err != nil {
			_ = say.Encode(hello{Error: err.Error()})
		}
		ended <- err
	}()
	_, _ = io.Copy(io.Discard, in) // its end is what counts
	cancel()
	return <-ended
}
