// Http measures enginehttp's cheap endpoints beside a bare net/http handler that
// writes the same body: what keys, rate limits, credits, request ids and JSON cost.
//
//	go run ./http
//
// Both run in turns, over loopback, in one process with the clients, which share
// its CPU: keep-alive connections that each ask again when they are answered.
// The store is memory; each request reserves and commits its price.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

func main() {
	conns := 16
	opts, err := report.ParseFlags("http", os.Args[1:], func(fs *flag.FlagSet) {
		fs.IntVar(&conns, "conns", conns, "connections, 1 to 1000")
	})
	if err == nil && (conns < 1 || conns > 1000) {
		err = fmt.Errorf("http: -conns %d is not allowed: want 1 to 1000", conns)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if err := run(opts, conns); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(opts report.Options, conns int) error {
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.close()
	var rows []report.Row
	for _, c := range cases {
		body, err := s.body(c.path)
		if err != nil {
			return err
		}
		contestants := []struct {
			impl string
			addr string
		}{{report.Ours, s.ours}, {"net/http", s.bare(c.path, body)}}
		// The clients, and what both have to write, are warm before it counts.
		var failed error
		rounds := make([][]measured, len(contestants))
		runs := make([]func() float64, len(contestants))
		for i, contestant := range contestants {
			runs[i] = func() float64 {
				m, err := load(contestant.addr, c.path, s.key, len(body), conns, opts.For)
				if err != nil {
					failed = fmt.Errorf("http: %s, %s: %w", c.name, contestant.impl, err)
				}
				rounds[i] = append(rounds[i], m)
				return m.rate
			}
			runs[i]()
			rounds[i] = nil
		}
		rates := report.Interleave(opts.Rounds, runs...)
		if failed != nil {
			return failed
		}
		for i, contestant := range contestants {
			rows = append(rows,
				report.Row{Bench: "http", Case: c.name, Impl: contestant.impl, Metric: "rate", Value: rates[i], Unit: "req/s"},
				report.Row{Bench: "http", Case: c.name, Impl: contestant.impl, Metric: "p99", Value: p99(rounds[i]), Unit: "µs"})
		}
	}
	return report.Write(os.Stdout, opts.JSON, rows)
}

// p99 is the median of the rounds' 99th percentiles, in microseconds.
func p99(rounds []measured) float64 {
	var list []time.Duration
	for _, m := range rounds {
		list = append(list, m.p99)
	}
	slices.Sort(list)
	return float64(list[len(list)/2]) / float64(time.Microsecond)
}
