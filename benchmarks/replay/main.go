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
)

func main() {
	events := flag.Int("events", 100_000, "events to replay: 1000 to 1000000")
	alone := flag.Duration("for", 20*time.Second, "how long to measure before and after the replay: 1s to 10m")
	flag.Parse()
	if *events < 1000 || *events > 1_000_000 || *alone < time.Second || *alone > 10*time.Minute {
		fmt.Fprintf(os.Stderr, "replay: -events %d -for %s is not allowed: want 1000 to 1000000 and 1s to 10m\n", *events, *alone)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *events, *alone); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}
