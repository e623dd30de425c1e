// Schedule compares what decides when each of many accounts is polled: how late
// polls come, what an account costs in memory, and what a poll costs in CPU.
//
//	go run ./schedule -accounts 1000000 -period 60s -for 30s -garbage 8192
//	go run ./schedule -accounts 10000000 -impl streamwatch
//
// streamwatch is the whole detection core, a detect.Detector with its names,
// cursors, a goroutine a poll and a group committer; its Fetcher answers at once
// with an empty page, and its Journal keeps nothing. The peers only schedule: they
// call the poll and do nothing else. Every account has the phase that
// detect.Phase gives it, for all alike; a poll's lag is the moment of the call
// less the moment it was due. A poll that is not made within 3 s after the
// measured time is lost; its lag goes on until then. Every poll, ours and
// theirs, allocates -garbage bytes, as a real fetch would, and the
// garbage collector has to mark the scheduler's memory.
//
// Each contestant runs in a process of its own, one after the other. A peer
// that cannot do the accounts asked for gets fewer: the row says how many.
// It needs a Unix.
// -for below 50 ms takes at most 200 accounts and 100 ms.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the program's flags.
type options struct {
	report.Options
	accounts int
	period   time.Duration
	warm     time.Duration
	garbage  int
	impls    []string
}

// Bounds of the flags.
const (
	maxAccounts = 100_000_000
	maxFor      = 30 * time.Minute // lags are 31 bits of µs
	maxGarbage  = 1 << 20
)

func main() {
	if name := os.Getenv(contestantEnv); name != "" {
		exit(child(name, os.Args[1:]))
	}
	opts, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	rows, err := compare(opts, os.Args[1:])
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// parse reads the command line.
func parse(args []string) (options, error) {
	var o options
	var err error
	o.Options, err = report.ParseFlags("schedule", args, func(own *flag.FlagSet) {
		report.Default(own, "for", "30s")
		report.Default(own, "rounds", "1")
		own.IntVar(&o.accounts, "accounts", 1_000_000, "accounts, at most 100 million")
		own.DurationVar(&o.period, "period", time.Minute, "how often each account is polled, 10ms to 24h")
		own.DurationVar(&o.warm, "warm", 2*time.Second, "how long a contestant runs before it is measured")
		own.IntVar(&o.garbage, "garbage", 8192, "bytes that every poll allocates, at most 1 MiB")
		report.Names(own, &o.impls, "impl", "contestants", names())
	})
	if err != nil {
		return options{}, err
	}
	if o.For < 50*time.Millisecond {
		o.accounts, o.period, o.warm = min(o.accounts, 200), min(o.period, 100*time.Millisecond), 0
	}
	return o, o.check()
}

func (o *options) check() error {
	switch {
	case o.accounts < 1 || o.accounts > maxAccounts:
		return fmt.Errorf("schedule: -accounts %d is not allowed: want 1 to %d", o.accounts, maxAccounts)
	case o.period < 10*time.Millisecond || o.period > 24*time.Hour:
		return fmt.Errorf("schedule: -period %s is not allowed: want 10ms to 24h", o.period)
	case o.For > maxFor:
		return fmt.Errorf("schedule: -for %s is not allowed: want at most %s", o.For, maxFor)
	case o.warm < 0:
		return fmt.Errorf("schedule: -warm %s is not allowed: want 0 or more", o.warm)
	case o.garbage < 0 || o.garbage > maxGarbage:
		return fmt.Errorf("schedule: -garbage %d is not allowed: want 0 to %d", o.garbage, maxGarbage)
	}
	return nil
}

// kase says what was measured, with the accounts there were.
func (o *options) kase(accounts int) string {
	return fmt.Sprintf("%d accounts, %s, %d B", accounts, o.period, o.garbage)
}
