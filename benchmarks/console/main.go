// Console measures the pages of package engineui over a store of a million events and an
// engine of 100,000 accounts: how long each takes and how large it is, for an operator and
// for a tenant.
//
//	go run ./console
//	go run ./console -accounts 1000 -events 10000
//
// It fills a SQLite store in a temporary directory through its ports: monitors by the
// engine's manager, 100 accounts in each; events by Journal.Commit, 1,000 in a call; then
// an endpoint for each monitor, and the last tenth of the events, with deliveries, settled by
// Outbox.Settle. Of 100 accounts one fails, one has gaps, one is silent and one is slow. Then the engine polls for
// a while, and goes on while pages are asked for, without a socket. A page whose median
// takes more than 50 ms, or that has more than 200 KB, ends the program with status 1. With
// -for below 50ms all is small, and only sizes are judged: a trial of the program.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// trial is for how long a page is asked for at least, unless the program is only tried.
const trial = 50 * time.Millisecond

// Bounds of a page.
const (
	mostTime = 50 * time.Millisecond // the median
	mostSize = 200_000               // bytes
)

func main() {
	s := setup{accounts: 100_000, events: 1_000_000, warm: time.Minute}
	opts, err := report.ParseFlags("console", os.Args[1:], func(fs *flag.FlagSet) {
		fs.IntVar(&s.accounts, "accounts", s.accounts, "accounts, 100 to 1000000")
		fs.IntVar(&s.events, "events", s.events, "events, 1000 to 10000000")
		fs.DurationVar(&s.warm, "warm", s.warm, "for how long the engine polls first")
		fs.StringVar(&s.dir, "dir", "", "directory of the store (default a temporary one)")
	})
	switch {
	case err != nil:
	case s.accounts < 100 || s.accounts > 1_000_000:
		err = fmt.Errorf("console: -accounts %d is not allowed: want 100 to 1000000", s.accounts)
	case s.events < 1000 || s.events > 10_000_000:
		err = fmt.Errorf("console: -events %d is not allowed: want 1000 to 10000000", s.events)
	case s.warm < 0:
		err = fmt.Errorf("console: -warm %s is not allowed: want 0 or more", s.warm)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if opts.For < trial {
		s = setup{accounts: min(s.accounts, 1000), events: min(s.events, 10_000), warm: min(s.warm, time.Second), dir: s.dir}
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	rows, over, err := run(ctx, s, opts.For, opts.Rounds)
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	for _, page := range over {
		fmt.Fprintln(os.Stderr, "console: over its bound:", page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
	}
	if err != nil || len(over) > 0 {
		cancel()
		os.Exit(1)
	}
}
