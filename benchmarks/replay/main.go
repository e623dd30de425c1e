// Replay measures what a replay does to what is detected meanwhile: 50 endpoints
// get 200 events a second, and the time from the call of Commit until the
// receiver's answer is taken, before, during and after a replay of 100,000 events
// to one of them, in the same run.
//
//	go run ./replay -events 100000 -for 20s
//
// The store is storage/sqlite in a temporary directory, the receivers are a Sender
// of this process that takes 5 ms for a request, and the dispatcher has its
// defaults: 4 requests in flight to an endpoint. A run in which an event was not
// sent exactly once, or a replayed one more than 16
// places from its own, ends with an error.
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

func main() {
	events, turns := 0, 1
	opts, err := report.ParseFlags("replay", os.Args[1:], func(fs *flag.FlagSet) {
		fs.Set("for", "20s")
		fs.Set("rounds", "1")
		fs.Lookup("for").Usage = "how long to measure before and after the replay, at least 500ms"
		fs.Lookup("rounds").Usage = "1: the replay is measured once"
		fs.IntVar(&turns, "turns", 1, "sources whose events take turns in the log, the first of which is replayed: 1 to 50")
		fs.IntVar(&events, "events", 0, "events to replay: 1000 to 1000000 (default 5000 for each second of -for)")
	})
	if events == 0 {
		events = min(max(int(5000*opts.For.Seconds()), 1000), 1_000_000)
	}
	switch {
	case err != nil:
	case events < 1000 || events > 1_000_000:
		err = fmt.Errorf("replay: -events %d is not allowed: want 1000 to 1000000", events)
	case turns < 1 || turns > hooks:
		err = fmt.Errorf("replay: -turns %d is not allowed: want 1 to %d", turns, hooks)
	case opts.Rounds != 1:
		err = fmt.Errorf("replay: -rounds %d is not allowed: want 1", opts.Rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	rows, err := run(ctx, events, turns, max(opts.For, 500*time.Millisecond))
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}
