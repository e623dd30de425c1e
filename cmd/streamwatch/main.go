// Streamwatch is the engine as a program, for users who do not write Go. It serves monitors, filter
// rules, webhooks, WebSocket, credits and keys over HTTP: see package enginehttp.
//
//	streamwatch help
//	streamwatch serve -demo
//	streamwatch watch -since mastodon:Gargron@mastodon.social bluesky:bsky.app
//
// The last two need no setup. The manual of the service is docs/operate.md, that of the commands what
// streamwatch man prints.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and the system may not have them

	"github.com/streamwatch/streamwatch/internal/command"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // a second one ends the program at once, as if none were awaited
		stop()
	}()
	err := run(ctx, process{Env: os.LookupEnv, Out: os.Stdout, Logs: os.Stderr}, os.Args[1:])
	stop()
	if status(err) != 0 && !errors.As(err, new(logged)) {
		fmt.Fprintln(os.Stderr, "streamwatch:", err)
	}
	os.Exit(status(err))
}

// exitConfig is the exit status of a command.UsageError. It differs from 2, the status of a Go program
// that panics: a supervisor should restart the program after a panic, but not after a UsageError.
const exitConfig = 78

// status returns the exit status for an error of run.
func status(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(command.UsageError)):
		return exitConfig
	}
	return 1
}
