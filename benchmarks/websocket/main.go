// Websocket measures how long an event takes from deliver/wshub to each of many
// clients of one owner, with all of them reading and with some that have stopped:
// a bad neighbour should change nothing for the others.
//
//	go run ./websocket
//
// Both cases run in turns, over loopback, in one process with the clients, which
// share its CPU. Before a round counts, every client has had an event, and those
// that stall have a full socket. A client that gets another event than the next
// ends the program.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/latency"
)

// settings are the flags of this program alone.
type settings struct {
	clients, stalled int
	every            time.Duration
}

func main() {
	var s settings
	opts, err := report.ParseFlags("websocket", os.Args[1:], func(fs *flag.FlagSet) {
		fs.IntVar(&s.clients, "clients", 1000, "connections, 1 to 10000")
		fs.IntVar(&s.stalled, "stalled", 100, "those of them that stop reading in the second case")
		fs.DurationVar(&s.every, "every", 100*time.Millisecond, "time between two events")
	})
	if err == nil {
		err = s.check()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if err := run(opts, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s settings) check() error {
	switch {
	case s.clients < 1 || s.clients > 10_000:
		return fmt.Errorf("websocket: -clients %d is not allowed: want 1 to 10000", s.clients)
	case s.stalled < 0 || s.stalled >= s.clients:
		return fmt.Errorf("websocket: -stalled %d is not allowed: want 0 to %d", s.stalled, s.clients-1)
	case s.every < time.Millisecond || s.every > time.Second:
		return fmt.Errorf("websocket: -every %s is not allowed: want 1ms to 1s", s.every)
	}
	return nil
}

func run(opts report.Options, s settings) error {
	cases := []int{0, s.stalled}
	type figures struct{ p50, p99 float64 }
	var failed error
	// Interleave takes one figure of a run: p50 is kept beside it.
	medians := make([][]figures, len(cases))
	runs := make([]func() float64, len(cases))
	for i, stalled := range cases {
		runs[i] = func() float64 {
			h, err := round(s, stalled, opts.For)
			if err != nil && failed == nil {
				failed = err
			}
			medians[i] = append(medians[i], figures{p50: micros(h, 0.5), p99: micros(h, 0.99)})
			return micros(h, 0.99)
		}
	}
	p99 := report.Interleave(opts.Rounds, runs...)
	if failed != nil {
		return failed
	}
	var rows []report.Row
	for i, stalled := range cases {
		n := 0
		p50 := report.Interleave(opts.Rounds, func() float64 { n++; return medians[i][n-1].p50 })
		name := fmt.Sprintf("%d of %d stalled", stalled, s.clients)
		rows = append(rows,
			report.Row{Bench: "websocket", Case: name, Impl: report.Ours, Metric: "p50", Value: p50[0], Unit: "µs"},
			report.Row{Bench: "websocket", Case: name, Impl: report.Ours, Metric: "p99", Value: p99[i], Unit: "µs"})
	}
	return report.Write(os.Stdout, opts.JSON, rows)
}

func micros(s latency.Snapshot, q float64) float64 {
	return float64(s.Quantile(q).Nanoseconds()) / 1000
}
