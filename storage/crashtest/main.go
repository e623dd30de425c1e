package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// parse reads the command line.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("crashtest", flag.ContinueOnError)
	fs.StringVar(&o.kind, "store", kindSQLite, "which `store`: "+strings.Join(kinds, " or "))
	fs.IntVar(&o.kills, "kills", 1000, "how many kills")
	fs.Uint64Var(&o.seed, "seed", 1, "what is left to chance follows from it, as far as processes can be repeated")
	fs.BoolVar(&o.json, "json", false, "print one JSON object per line")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("crashtest: argument %q is not allowed: want flags only", fs.Arg(0))
	case !slices.Contains(kinds, o.kind):
		return o, fmt.Errorf("crashtest: -store %q is not allowed: want %s", o.kind, strings.Join(kinds, " or "))
	case o.kills < 1 || o.kills > 1_000_000:
		return o, fmt.Errorf("crashtest: -kills %d is not allowed: want 1 to 1,000,000", o.kills)
	}
	return o.shared(), nil
}

// shared fills in what follows from the rest.
func (o options) shared() options {
	o.every, o.want, o.patience = killsPerRound, o.kills/killsPerHit, 40*time.Second
	return o
}

// Shares of a run.
const (
	killsPerRound = 25
	killsPerHit   = 50 // one hit of each point is wanted for so many kills
)

func main() {
	if setting, ok := os.LookupEnv(childVariable); ok {
		os.Exit(childStatus(runChild(setting)))
	}
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// childStatus is how the process under test ends when nobody kills it.
func childStatus(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// command is the program: its exit status is 0 when nothing was violated.
func command(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := newRun(o, stderr)
	if err := r.play(ctx); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if err := r.write(stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if len(r.tally.found) > 0 {
		return 1
	}
	return 0
}
