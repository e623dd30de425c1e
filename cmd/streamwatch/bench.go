package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench"
	"github.com/streamwatch/streamwatch/internal/command"
)

// defineBench is the command bench latency. After a first Ctrl-C it waits until its posts have
// arrived. A second Ctrl-C ends the process immediately.
func defineBench(f *command.Flags) command.Run {
	run := latencybench.Define(f)
	return func(ctx context.Context, p process) error {
		defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
		return run(ctx, p)
	}
}

// defineDetector is the command bench detector: serve, until the standard input ends. So it ends
// when the bench latency that has started it ends or is killed. It ignores Ctrl-C.
func defineDetector(f *command.Flags) command.Run {
	serve := defineServe(f)
	return func(ctx context.Context, p process) error {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
		return serve(ctx, p)
	}
}
