// Dispatch measures what sending a webhook costs: the dispatcher of package
// deliver, with lanes, the address guard, both signatures, and outcomes settled
// into storage/memory, and bare HTTP clients that send the same request.
//
//	go run ./dispatch
//	go run ./dispatch -inflight 64 -hosts 20
//
// The receiver is a process of its own on the same machine, which answers with an
// empty 200. The body is 1 KB. Every contestant computes X-Signature-256 and the
// Standard Webhooks signature for each request and sends the same headers; ours
// commits the events, too, within the time measured. The contestants:
//
//   - streamwatch: detect.Journal.Commit, then Dispatcher.Enqueue
//   - http.DefaultClient: no deadline, 2 idle connections a host
//   - net/http, tuned: idle connections for all in flight, 10 s for a request
//   - raw socket: a keep-alive connection each, one write and one read: the limit
//
// CPU and allocations are this process's own, the sink's left out.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
)

// settings are the flags of this program alone.
type settings struct {
	inFlight []int
	hosts    int
}

func main() {
	if sink.Child() {
		return
	}
	s := settings{inFlight: []int{64, 512}}
	opts, err := report.ParseFlags("dispatch", os.Args[1:], func(fs *flag.FlagSet) {
		report.IntList(fs, &s.inFlight, "inflight", "requests under way at once, a list of 1 to 2000 (default 64,512)", 1, 2000)
		fs.IntVar(&s.hosts, "hosts", 200, "receivers of the cases with many, 2 to 250")
	})
	if err == nil && (s.hosts < 2 || s.hosts > 250) {
		err = fmt.Errorf("dispatch: -hosts %d is not allowed: want 2 to 250", s.hosts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	rows, err := run(opts, s)
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(opts report.Options, s settings) (rows []report.Row, err error) {
	if opts.For < 50*time.Millisecond { // only to show that it works
		s.inFlight = s.inFlight[:1]
	}
	for _, secure := range []bool{false, true} {
		name := "plain"
		if secure {
			name = "TLS"
		}
		found, err := cases(opts, s, name, secure)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// cases are those of one sink.
func cases(opts report.Options, s settings, name string, secure bool) (rows []report.Row, err error) {
	snk, err := sink.Start(sink.Config{Hosts: s.hosts, TLS: secure})
	if err != nil {
		return nil, err
	}
	defer snk.Stop()
	if secure {
		if err := trust(snk.CAFile()); err != nil {
			return nil, err
		}
	}
	for _, hosts := range []int{1, s.hosts} {
		for _, n := range s.inFlight {
			found, err := race(opts, fmt.Sprintf("%s, %d hosts, %d in flight", name, hosts, n), snk, secure, hosts, n)
			if err != nil {
				return nil, err
			}
			rows = append(rows, found...)
		}
	}
	return rows, nil
}

// race lets the contestants take turns at one sink.
func race(opts report.Options, name string, snk *sink.Sink, secure bool, hosts, inFlight int) (rows []report.Row, err error) {
	list, err := contestants(snk, secure, hosts, inFlight)
	if err != nil {
		return nil, err
	}
	runs := make([]func() float64, len(list))
	all := make([]figures, len(list))
	for i := range list {
		c := list[i]
		defer c.close()
		// Connections are made before anything counts.
		if _, err := measure(c, min(opts.For, 100*time.Millisecond)); err != nil {
			return nil, fmt.Errorf("dispatch: %s, %s: %w", name, c.name(), err)
		}
		runs[i] = func() float64 {
			f, e := measure(c, opts.For)
			if e != nil && err == nil {
				err = fmt.Errorf("dispatch: %s, %s: %w", name, c.name(), e)
			}
			all[i].cpu = append(all[i].cpu, f.cpu...)
			all[i].allocs = append(all[i].allocs, f.allocs...)
			all[i].failed += f.failed
			return f.rate
		}
	}
	rates := report.Interleave(opts.Rounds, runs...)
	if err != nil {
		return nil, err
	}
	for i, c := range list {
		row := func(metric string, value float64, unit string) {
			rows = append(rows, report.Row{Bench: "dispatch", Case: name, Impl: c.name(), Metric: metric, Value: value, Unit: unit})
		}
		row("rate", rates[i], "/s")
		row("CPU", report.Quantile(all[i].cpu, 0.5), "µs")
		row("allocations", report.Quantile(all[i].allocs, 0.5), "/delivery")
		row("failed", float64(all[i].failed), "requests")
	}
	return rows, nil
}
