package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
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
	fs.IntVar(&o.fleet, "fleet", 0, "so many nodes that share the store")
	fs.IntVar(&o.handovers, "handovers", 0, "with -fleet: how often parts change hands, between nodes without an engine")
	fs.IntVar(&o.pauses, "pauses", 0, "with -fleet: how often engines are stopped for a while")
	fs.IntVar(&o.cuts, "cuts", 0, "with -fleet and redis: how often engines are cut off from the store")
	fs.IntVar(&o.failovers, "failovers", 0, "with -handovers and redis: so many failovers by Sentinel")
	fs.StringVar(&o.plant, "plant", "", "with -handovers: a `fault` to be found: "+strings.Join(plants, " or "))
	fs.BoolVar(&o.json, "json", false, "print one JSON object per line")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("crashtest: argument %q is not allowed: want flags only", fs.Arg(0))
	case o.fleet != 0 || o.handovers != 0 || o.failovers != 0 || o.pauses != 0 || o.cuts != 0 || o.plant != "":
		return o.shared(), o.checkFleet()
	case !slices.Contains(kinds, o.kind):
		return o, fmt.Errorf("crashtest: -store %q is not allowed: want %s", o.kind, strings.Join(kinds, " or "))
	case o.kills < 1 || o.kills > 1_000_000:
		return o, fmt.Errorf("crashtest: -kills %d is not allowed: want 1 to 1,000,000", o.kills)
	case o.ledger < 0 || o.ledger > maxLedger || o.ledger > 0 && o.ledger < 100*o.kills:
		return o, fmt.Errorf("crashtest: -ledger %d is not allowed: want 0, or 100 for each kill and at most %d", o.ledger, maxLedger)
	}
	return o.shared(), nil
}

// checkFleet checks the flags of a fleet.
func (o options) checkFleet() error {
	switch kinds := append([]string{kindCluster}, kinds...); {
	case runtime.GOOS != "linux":
		return fmt.Errorf("crashtest: -fleet is for Linux: %s cannot stop a process for a while", runtime.GOOS)
	case !slices.Contains(kinds, o.kind):
		return fmt.Errorf("crashtest: -store %q is not allowed: want %s", o.kind, strings.Join(kinds, " or "))
	case o.fleet < 2 || o.fleet > 64:
		return fmt.Errorf("crashtest: -fleet %d is not allowed: want 2 to 64", o.fleet)
	case o.handovers < 0 || o.handovers > 1_000_000:
		return fmt.Errorf("crashtest: -handovers %d is not allowed: want 0, for engines, to 1,000,000", o.handovers)
	case o.handovers == 0 && (o.kind == kindCluster || o.failovers > 0 || o.plant != ""):
		return errors.New("crashtest: -handovers is missing: want it with -store cluster, -failovers and -plant")
	case o.handovers > 0 && (o.pauses > 0 || o.cuts > 0):
		return errors.New("crashtest: -handovers is not allowed with -pauses and -cuts: these are for engines")
	case o.kills < 1 || o.kills > 1_000_000 || o.pauses < 0 || o.pauses > 1_000_000 || o.cuts < 0 || o.cuts > 1_000_000:
		return fmt.Errorf("crashtest: -kills %d, -pauses %d and -cuts %d are not allowed: want 1, 0 and 0 to 1,000,000", o.kills, o.pauses, o.cuts)
	case o.cuts > 0 && o.kind != kindRedis:
		return fmt.Errorf("crashtest: -cuts %d is not allowed with -store %s: want redis", o.cuts, o.kind)
	case o.failovers < 0 || o.failovers > 1000 || o.failovers > 0 && o.kind != kindRedis:
		return fmt.Errorf("crashtest: -failovers %d is not allowed with -store %s: want 0 to 1,000, and redis for more than 0", o.failovers, o.kind)
	case o.plant != "" && !slices.Contains(plants, o.plant):
		return fmt.Errorf("crashtest: -plant %q is not allowed: want %s", o.plant, strings.Join(plants, " or "))
	case o.ledger != 0:
		return fmt.Errorf("crashtest: -ledger %d is not allowed with -fleet: want 0", o.ledger)
	}
	return nil
}

// shared fills in the options that follow from others.
func (o options) shared() options {
	o.every, o.want, o.patience = killsPerRound, o.kills/killsPerHit, restsWithin
	return o
}

// Shares of a run.
const (
	killsPerRound = 25
	killsPerHit   = 62 // each point must be hit once in so many kills
	// restsWithin leaves time for an endpoint whose circuit breaker opens twice, for
	// 30 s and then for 60: the few deliveries that the receiver never accepts can be
	// most of what a new process sends it.
	restsWithin = 3 * time.Minute
	// maxLedger is less than the number of entries and ids that the stores keep.
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

// command runs the program, and returns its exit status: 0 when nothing was violated.
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
	switch {
	case o.fleet > 0 && o.handovers == 0:
		r = newEnginesRun(o, stderr)
	case o.fleet > 0:
		r = newHandoverRun(o, stderr)
	case o.ledger > 0:
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
