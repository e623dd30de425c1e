// Quickstart shows streamwatch at work in one command.
//
//	go run ./examples/quickstart
//
// runs everything on this machine and uses only loopback. A few accounts of a fake platform post, the
// engine polls them over HTTP, and a webhook receiver verifies every signature. The program prints a
// line for each detection, and a summary with counts and latencies at the end. The exit status is 0
// only if no post was lost, duplicated or left unverified.
//
//	go run ./examples/quickstart -interval 5s
//	go run ./examples/quickstart -interval 5s -probe
//	go run ./examples/quickstart -interval 5s -push
//
// show the effect of probes and of a stream: the same posts are found sooner.
//
//	go run ./examples/quickstart -ui
//
// also serves the engine's console until Ctrl-C, and prints its address. To watch real accounts, use
// the program: go run ./cmd/streamwatch watch -since bluesky:bsky.app
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the command line's flags.
type options struct {
	posts    int
	accounts int
	interval time.Duration
	lasts    time.Duration // how long the accounts post
	push     bool
	probe    bool
	json     bool
	ui       bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{lasts: demoLasts}
	fs := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // main prints the error, once
	fs.Usage = func() {}
	fs.IntVar(&o.posts, "posts", 60, "posts to publish, over about 8 seconds, 1 to 100000")
	fs.IntVar(&o.accounts, "accounts", 6, "accounts that post, 1 to 10000")
	fs.DurationVar(&o.interval, "interval", 500*time.Millisecond, "time between two polls of an account, 50ms to 10s")
	fs.BoolVar(&o.push, "push", false, "the platform pushes posts, too, and polls only check that it left out none")
	fs.BoolVar(&o.probe, "probe", false, "ask 10 times a second which accounts have changed, and poll these at once")
	fs.BoolVar(&o.json, "json", false, "end with the summary as one JSON object on a line")
	fs.BoolVar(&o.ui, "ui", false, "serve the console on a port of this machine, whose address is printed, until Ctrl-C")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(stderr)
			fmt.Fprint(stderr, "Watch a demonstration on this machine.\n\n")
			fs.PrintDefaults()
		}
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("argument %q is not allowed: want flags only", fs.Arg(0))
	case o.posts < 1 || o.posts > 100_000:
		return o, fmt.Errorf("-posts %d is not allowed: want 1 to 100000", o.posts)
	case o.accounts < 1 || o.accounts > 10_000:
		return o, fmt.Errorf("-accounts %d is not allowed: want 1 to 10000", o.accounts)
	case o.interval < 50*time.Millisecond || o.interval > 10*time.Second:
		return o, fmt.Errorf("-interval %s is not allowed: want 50ms to 10s", o.interval)
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	finished := context.AfterFunc(ctx, func() {
		stop() // from here on Ctrl-C ends the process immediately
		fmt.Fprintln(os.Stderr, "stopping; Ctrl-C again quits at once")
	})
	sum, err := demonstrate(ctx, o, os.Stdout)
	finished()
	stop()
	if sum != nil {
		sum.print(os.Stdout, o.json)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}
