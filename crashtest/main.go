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

// options has the settings of the command line, and the settings that follow from them.
type options struct {
	kind      string // of the store
	seed      uint64
	json      bool
	fleet     int // number of nodes that share the store; 0 for one engine without a fleet
	kills     int
	pauses    int
	cuts      int
	handovers int    // hand-overs between workers, nodes without an engine; 0 to run engines
	plant     string // the fault to add to the workers' commits; "" for none

	dir      string        // for the stores; "" for the system's temporary directory
	bug      string        // the fault to add to the child; only tests set it
	patience time.Duration // how long a process may take to finish, and then to stop
	every    int           // kills in a round
	want     int           // hits that each point must get
}

const (
	killsPerRound = 25
	killsPerHit   = 62 // each point must be hit once in this many kills
	// restsWithin is long enough for a circuit breaker to open twice, for 30 s and for 60 s. It may
	// open because the few deliveries that the receiver never accepts can be most of what a new
	// process sends.
	restsWithin = 3 * time.Minute
)

// shared sets the options that follow from others.
func (o options) shared() options {
	o.every, o.want, o.patience = killsPerRound, o.kills/killsPerHit, restsWithin
	return o
}

// parse reads the command line.
func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("crashtest", flag.ContinueOnError)
	fs.StringVar(&o.kind, "store", kindSQLite, "which `store`: "+strings.Join(kinds, " or "))
	fs.IntVar(&o.kills, "kills", 1000, "number of kills")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random choices; the timing of processes still differs")
	fs.IntVar(&o.fleet, "fleet", 0, "number of nodes that share the store, which must be "+strings.Join(sharedKinds, " or "))
	fs.IntVar(&o.pauses, "pauses", 0, "with -fleet: how often engines are stopped for a while")
	fs.IntVar(&o.cuts, "cuts", 0, "with -fleet: how often engines are cut off from the store")
	fs.IntVar(&o.handovers, "handovers", 0, "with -fleet: how often parts change hands, between nodes without an engine")
	fs.StringVar(&o.plant, "plant", "", "with -handovers: a `fault` to be found: "+plantNoFence)
	fs.BoolVar(&o.json, "json", false, "print one JSON object per line")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("crashtest: argument %q is not allowed: want flags only", fs.Arg(0))
	}
	return o.shared(), o.check()
}

func (o options) check() error {
	for _, n := range []struct {
		flag         string
		value, least int
	}{{"kills", o.kills, 1}, {"pauses", o.pauses, 0}, {"cuts", o.cuts, 0}, {"handovers", o.handovers, 0}} {
		if n.value < n.least || n.value > 1_000_000 {
			return fmt.Errorf("crashtest: -%s %d is not allowed: want %d to 1,000,000", n.flag, n.value, n.least)
		}
	}
	switch {
	case !slices.Contains(kinds, o.kind):
		return fmt.Errorf("crashtest: -store %q is not allowed: want %s", o.kind, strings.Join(kinds, " or "))
	case o.fleet == 0 && (o.pauses > 0 || o.cuts > 0 || o.handovers > 0):
		return errors.New("crashtest: -fleet is missing: want it with -pauses, -cuts and -handovers")
	case o.fleet != 0 && (o.fleet < 2 || o.fleet > 64):
		return fmt.Errorf("crashtest: -fleet %d is not allowed: want 2 to 64", o.fleet)
	case o.fleet > 0 && !slices.Contains(sharedKinds, o.kind):
		return fmt.Errorf("crashtest: -fleet is not allowed with -store %s: want %s", o.kind, strings.Join(sharedKinds, " or "))
	case o.fleet > 0 && runtime.GOOS != "linux":
		return fmt.Errorf("crashtest: -fleet is for Linux: %s cannot stop a process for a while", runtime.GOOS)
	case o.handovers > 0 && (o.pauses > 0 || o.cuts > 0):
		return errors.New("crashtest: -handovers is not allowed with -pauses and -cuts: these are for engines")
	case o.plant != "" && (o.plant != plantNoFence || o.handovers == 0):
		return fmt.Errorf("crashtest: -plant %q is not allowed: want %s, with -handovers", o.plant, plantNoFence)
	}
	return nil
}

func main() {
	if setting, ok := os.LookupEnv(childVariable); ok {
		os.Exit(childStatus(runChild(setting)))
	}
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// childStatus returns the exit status of the child if nothing kills it.
func childStatus(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// command runs the program and returns its exit status, 0 if nothing was violated.
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
	var rep report
	if o.handovers > 0 {
		rep, err = newHandovers(o, stderr).play(ctx)
	} else {
		rep, err = newRun(o, stderr).play(ctx)
	}
	if err == nil {
		err = rep.write(stdout, o.json)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	if err != nil || len(rep.found) > 0 {
		return 1
	}
	return 0
}
