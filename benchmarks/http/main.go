// Http measures enginehttp's cheap endpoints beside a bare net/http handler that
// writes the same body: what keys, rate limits, credits, request ids and JSON cost.
//
//	go run ./http
//
// Both run in turns, over loopback, in one process with the clients, which share
// its CPU: keep-alive connections that each ask again when they are answered.
// In the last case other connections, of another process, send a part of their
// headers and no more: "-slow 10000" needs a hard limit of 10,100 open files. It
// measures without them and beside them in each round, and the memory that each
// takes in this process. The store is memory; each request reserves and commits
// its price.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

func main() {
	if runAsChild() {
		return
	}
	conns, slow := 16, 1000
	opts, err := report.ParseFlags("http", os.Args[1:], func(fs *flag.FlagSet) {
		fs.IntVar(&conns, "conns", conns, "connections, 1 to 1000")
		fs.IntVar(&slow, "slow", slow, "connections of the last case that never end their headers, 0 to 20000")
	})
	if err == nil && (conns < 1 || conns > 1000) {
		err = fmt.Errorf("http: -conns %d is not allowed: want 1 to 1000", conns)
	}
	if err == nil && (slow < 0 || slow > 20_000) {
		err = fmt.Errorf("http: -slow %d is not allowed: want 0 to 20000", slow)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if err := run(opts, conns, slow); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(opts report.Options, conns, slow int) error {
	s, err := newService()
	if err != nil {
		return err
	}
	defer s.close()
	var rows []report.Row
	for _, c := range cases {
		got, err := s.race(opts, c, conns, slow)
		if err != nil {
			return err
		}
		rows = append(rows, got...)
	}
	return report.Write(os.Stdout, opts.JSON, rows)
}

// race has ours and the bare handler take turns at a case.
func (s *service) race(opts report.Options, c benchCase, conns, slow int) ([]report.Row, error) {
	body, err := s.body(c.path)
	if err != nil {
		return nil, err
	}
	contestants := []struct {
		impl string
		to   *served
	}{{report.Ours, s.ours}, {"net/http", s.bare(c.path, body)}}
	var failed error
	rounds := make([][]measured, len(contestants))
	runs := make([]func() float64, len(contestants))
	for i, contestant := range contestants {
		runs[i] = func() float64 {
			m, err := s.round(opts, c, contestant.to, body, conns, slow)
			if err != nil && failed == nil {
				failed = fmt.Errorf("http: %s, %s: %w", c.name, contestant.impl, err)
			}
			rounds[i] = append(rounds[i], m)
			return m.rate
		}
		// The clients, and what both have to write, are warm before it counts.
		runs[i]()
		rounds[i] = nil
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
		add("p99", median(rounds[i], func(m measured) float64 { return microseconds(m.p99) }), "µs")
		if c.slow && slow > 0 {
			add("p99 without them", median(rounds[i], func(m measured) float64 { return microseconds(m.alone) }), "µs")
			add("with / without", median(rounds[i], func(m measured) float64 { return float64(m.p99) / float64(m.alone) }), "x")
			add("memory a slow one", median(rounds[i], func(m measured) float64 { return m.each }), "B")
			add("slow ones at the end", median(rounds[i], func(m measured) float64 { return float64(m.held) }), "count")
		}
	}
	return rows, nil
}

// round measures one contestant once.
func (s *service) round(opts report.Options, c benchCase, to *served, body []byte, conns, slow int) (m measured, err error) {
	ask := func() (measured, error) { return load(to.addr, c.path, s.key, len(body), conns, opts.For) }
	m, err = ask()
	if err != nil || !c.slow || slow == 0 {
		return m, err
	}
	alone := m.p99
	if err := to.waitFor(func(open int) bool { return open == 0 }); err != nil {
		return m, err
	}
	clients, each, err := hold(to, slow)
	if err != nil {
		return m, err
	}
	m, err = ask()
	m.alone, m.each, m.held = alone, each, min(slow, int(to.open.Load()))
	return m, errors.Join(err, clients.release())
}

// median of the rounds.
func median(rounds []measured, of func(measured) float64) float64 {
	var list []float64
	for _, m := range rounds {
		list = append(list, of(m))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
