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
	fs.IntVar(&o.ledger, "ledger", 0, "so many random operations of the ledger in place of an engine")
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
	case o.ledger < 0 || o.ledger > maxLedger || o.ledger > 0 && o.ledger < 100*o.kills:
		return o, fmt.Errorf("crashtest: -ledger %d is not allowed: want 0, or 100 for each kill and at most %d", o.ledger, maxLedger)
	}
	return o.shared(), nil
}

// shared fills in what follows from the rest.
func (o options) shared() options {
	o.every, o.want, o.patience = killsPerRound, o.kills/killsPerHit, restsWithin
	return o
}

// Shares of a run.
const (
	killsPerRound = 25
	killsPerHit   = 60 // one hit of each point is wanted for so many kills
	// restsWithin has room for an endpoint whose circuit breaker has opened, for 30 s
	// and then for 60: what is never taken can be most of what a new process sends it.
	restsWithin = 3 * time.Minute
	// maxLedger is below how many entries and ids the stores keep.
	maxLedger = 1_000_000
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
	var r interface {
		play(context.Context) error
		write(io.Writer) error
		violations() []violation
	} = newRun(o, stderr)
	if o.ledger > 0 {
		r = newLedgerRun(o, stderr)
	}
	err = r.play(ctx)
	if err == nil {
		err = r.write(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	if err != nil || len(r.violations()) > 0 {
		return 1
	}
	return 0
}

func (r *run) violations() []violation       { return r.tally.found }
func (r *ledgerRun) violations() []violation { return r.found }
