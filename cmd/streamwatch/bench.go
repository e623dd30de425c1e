package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench"
)

// runBenchLatency is the command bench latency. When it is told to stop, it waits for
// what it has posted; told again, the process ends at once.
func runBenchLatency(ctx context.Context, p process, args []string) error {
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	return benchError(latencybench.Latency(ctx, p.env, p.out, p.logs, args))
}

// runBenchVerify is the command bench verify.
func runBenchVerify(_ context.Context, p process, args []string) error {
	return benchError(latencybench.Verify(p.out, args))
}

// runBenchDetector is the command bench detector.
func runBenchDetector(ctx context.Context, p process, args []string) error {
	return benchError(latencybench.Detector(ctx, p.env, os.Stdin, p.out, p.logs, args))
}

// benchError turns a latencybench.UsageError into a usageError.
func benchError(err error) error {
	if errors.As(err, new(latencybench.UsageError)) {
		return usageError{err}
	}
	return err
}
