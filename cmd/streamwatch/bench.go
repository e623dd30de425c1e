package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench"
)

// runBenchLatency is the command bench latency. After a first Ctrl-C it waits for the posts
// that it has made; a second one ends the process at once.
func runBenchLatency(ctx context.Context, p process, args []string) error {
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	return benchError(latencybench.Latency(ctx, p.env, p.out, p.logs, args))
}

// runBenchDetector is the command bench detector.
func runBenchDetector(ctx context.Context, p process, args []string) error {
	fs := newFlags("bench detector", "Detector is what bench latency starts, which gives it a configuration on the standard input.")
	if err := fs.parse(p, args); err != nil {
		return err
	}
	return latencybench.Detector(ctx, os.Stdin, p.out, p.logs)
}

// benchError turns a latencybench.UsageError into a usageError.
func benchError(err error) error {
	if errors.As(err, new(latencybench.UsageError)) {
		return usageError{err}
	}
	return err
}
