// Neighbour measures what bad receivers do to the others: 1,000 endpoints get an
// event a second each, and the time from an event until its 2xx is taken of those
// that are well, in three cases that take turns:
//
//   - all are well
//
//   - one hangs, one resets its connections, one gets 100 times as many events
//
//   - one in ten hangs
//
//     go run ./neighbour -for 12s -rounds 3
//
// The receivers are one process beside this one, the store is storage/memory, the
// dispatcher has its defaults: 256 workers, 4 requests in flight to an endpoint,
// 10 s for a request. Every endpoint has had an event before a round counts. A
// run in which an endpoint that hangs held more than its 4 connections ends with
// an error.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/latency"
)

func main() {
	if sink.Child() {
		return
	}
	endpoints := 1000
	opts, err := report.ParseFlags("neighbour", os.Args[1:], func(fs *flag.FlagSet) {
		fs.Set("for", "5s")
		fs.Set("rounds", "3")
		fs.IntVar(&endpoints, "endpoints", endpoints, "receivers, each of which gets an event a second: 10 to 5000")
	})
	if err == nil && (endpoints < 10 || endpoints > 5000) {
		err = fmt.Errorf("neighbour: -endpoints %d is not allowed: want 10 to 5000", endpoints)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	rows, err := run(opts, endpoints)
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// street says how the first endpoints behave; the others are well.
type street struct {
	name                 string
	hang, reset, flooded int
}

const (
	floodFactor = 100
	perEndpoint = 4 // requests in flight to one, by default
)

func run(opts report.Options, endpoints int) (rows []report.Row, err error) {
	cases := []street{
		{name: "all well"},
		{name: "1 hangs, 1 resets, 1 flooded", hang: 1, reset: 1, flooded: 1},
		{name: "10 % hang", hang: endpoints / 10},
	}
	took := make([]latency.Snapshot, len(cases))
	sockets := make([]int64, len(cases))
	for round := range opts.Rounds {
		for k := range cases {
			i := (k + round) % len(cases)
			snk, err := sink.Start(sink.Config{Hosts: min(endpoints, 250)})
			if err != nil {
				return nil, err
			}
			s, err := measure(snk, cases[i], endpoints, opts.For)
			if err == nil {
				var c sink.Counts
				if c, err = snk.Counts(); err == nil && c.MostHung > int64(perEndpoint*cases[i].hang) {
					err = fmt.Errorf("%d connections to %d endpoints that hang: want at most %d each", c.MostHung, cases[i].hang, perEndpoint)
				}
				sockets[i] = max(sockets[i], c.MostHung)
			}
			snk.Stop()
			if err != nil {
				return nil, fmt.Errorf("neighbour: %s: %w", cases[i].name, err)
			}
			took[i] = took[i].Add(s)
		}
	}
	for i, c := range cases {
		row := func(metric string, value float64, unit string) {
			rows = append(rows, report.Row{Bench: "neighbour", Case: c.name, Impl: report.Ours, Metric: metric, Value: value, Unit: unit})
		}
		row("p50", float64(took[i].Quantile(0.5).Microseconds())/1000, "ms")
		row("p99", float64(took[i].Quantile(0.99).Microseconds())/1000, "ms")
		row("deliveries", float64(took[i].Count()), "to those well")
		row("connections that hang", float64(sockets[i]), "at most")
	}
	return rows, nil
}
