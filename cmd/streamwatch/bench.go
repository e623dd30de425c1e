package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench"
)

// runBenchLatency runs the command bench latency. After a first Ctrl-C it waits until its posts have
// arrived. A second Ctrl-C ends the process immediately.
func runBenchLatency(ctx context.Context, p process, args []string) error {
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	return benchError(latencybench.Latency(ctx, p.env, p.out, p.logs, args))
}

// runBenchDetector runs the command bench detector: serve, until the standard input ends. So it ends
// when the bench latency that has started it ends or is killed. It ignores Ctrl-C.
func runBenchDetector(ctx context.Context, p process, args []string) error {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return runServe(ctx, p, args)
}

// benchError turns a latencybench.UsageError into a usageError.
func benchError(err error) error {
	if errors.As(err, new(latencybench.UsageError)) {
		return usageError{err}
	}
	return err
}
