// Http measures enginehttp's cheap endpoints and a bare net/http handler that
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
		got, err := s.race(opts, c, conns)
		if err != nil {
			return err
		}
		rows = append(rows, got...)
	}
	return report.Write(os.Stdout, opts.JSON, rows)
}

// race has ours and the bare handler take turns at a case.
func (s *service) race(opts report.Options, c benchCase, conns int) ([]report.Row, error) {
	body, err := s.body(c.path)
	if err != nil {
		return nil, err
	}
	contestants := []struct {
		impl string
		addr string
	}{{report.Ours, s.ours}, {"net/http", s.bare(c.path, body)}}
	var failed error
	late := make([][]float64, len(contestants))
	runs := make([]func() float64, len(contestants))
	for i, contestant := range contestants {
		runs[i] = func() float64 {
			m, err := load(contestant.addr, c.path, s.key, len(body), conns, opts.For)
			if err != nil && failed == nil {
				failed = fmt.Errorf("http: %s, %s: %w", c.name, contestant.impl, err)
			}
			late[i] = append(late[i], microseconds(m.p99))
			return m.rate
		}
		// The clients, and what both have to write, are warm before it counts.
		runs[i]()
		late[i] = nil
		if failed != nil {
			return nil, failed
		}
	}
	rates := report.Interleave(opts.Rounds, runs...)
	if failed != nil {
		return nil, failed
	}
	var rows []report.Row
	for i, contestant := range contestants {
		add := func(metric string, value float64, unit string) {
			rows = append(rows, report.Row{Bench: "http", Case: c.name, Impl: contestant.impl, Metric: metric, Value: value, Unit: unit})
		}
		add("rate", rates[i], "req/s")
		add("p99", report.Quantile(late[i], 0.5), "µs")
	}
	return rows, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
