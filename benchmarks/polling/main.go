// Polling compares policies that decide which account to poll next, by how late
// they find posts with the same budget of requests: package internal/pace, a fixed
// interval, what feed readers do, halving and backing off, and the best fixed
// allocation that hindsight could choose. For Poisson input it also gives D*,
// which no policy can go below.
//
//	go run ./polling                                         # worlds of its own
//	go run ./polling -arrivals FILE -interval 300s           # a recording
//
// The interval is accounts / budget: how often all accounts could be polled.
// Posts of the first two weeks are not scored. A replay is the same in every
// run, and is timed once: -rounds is accepted as everywhere but not needed, and
// -for below 50 ms takes a world of 100 accounts and 16 days in place of the
// larger ones.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the program's own flags.
type options struct {
	report.Options
	arrivals string
	interval time.Duration
	seed     uint64
}

func main() {
	opts, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if err := run(opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string) (options, error) {
	o := options{interval: 300 * time.Second, seed: 1}
	var err error
	o.Options, err = report.ParseFlags("polling", args, func(own *flag.FlagSet) {
		own.StringVar(&o.arrivals, "arrivals", "", "arrivals file to replay, may be gzipped; skipped when missing")
		own.DurationVar(&o.interval, "interval", o.interval, "accounts / budget, 1s to 24h")
		own.Uint64Var(&o.seed, "seed", o.seed, "seed of the generated worlds")
	})
	if err != nil {
		return options{}, err
	}
	if o.interval < time.Second || o.interval > 24*time.Hour {
		return options{}, fmt.Errorf("polling: -interval %s is not allowed: want 1s to 24h", o.interval)
	}
	return o, nil
}

func run(o options) error {
	inputs, err := o.inputs()
	if err != nil {
		return err
	}
	var rows []report.Row
	for _, a := range inputs {
		more, err := compare(a, o)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	return report.Write(os.Stdout, o.JSON, rows)
}

// inputs are the recording if one is named and there, and else worlds.
func (o options) inputs() ([]*history, error) {
	if o.arrivals != "" {
		a, err := readArrivals(o.arrivals)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "polling: SKIPPED: there is no arrivals file %s\n", o.arrivals)
			return nil, nil
		}
		return []*history{a}, err
	}
	n, days := 1000, 42
	if o.For < 50*time.Millisecond {
		n, days = 100, 16
	}
	worlds := []world{
		{accounts: n, days: days, sigma: 1.6},
		{accounts: n, days: days, sigma: 1.6, daily: 0.7, drift: 0.3, turnover: 0.1, burst: 0.5},
		{accounts: n, days: days, sigma: 2.2, daily: 0.9, drift: 0.5, turnover: 0.2, burst: 0.8},
	}
	var all []*history
	for _, w := range worlds {
		all = append(all, w.generate(o.seed))
	}
	return all, nil
}

// warmUp is how long posts are not scored.
const warmUp = 14 * day

// compare replays the arrivals with every policy, as many at a time as there are
// cores. Times are given in seconds and also relative to the fixed interval's.
func compare(a *history, o options) ([]report.Row, error) {
	interval := o.interval
	budget := float64(len(a.posts)) / interval.Seconds()
	impls := contestants(a, budget)
	results := make([]result, len(impls))
	errs := make([]error, len(impls))
	var all sync.WaitGroup
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, c := range impls {
		cores <- struct{}{}
		all.Go(func() {
			defer func() { <-cores }()
			var p policy
			if p, errs[i] = c.fresh(); errs[i] == nil {
				results[i] = play(a, budget, warmUp, p)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if results[0].posts == 0 {
		return nil, fmt.Errorf("polling: %s has no posts after the first two weeks", a.name)
	}
	fixed := results[slices.IndexFunc(impls, func(c contestant) bool { return c.name == "fixed interval" })]
	var rows []report.Row
	add := func(impl, metric string, v float64, unit string) {
		rows = append(rows, report.Row{Bench: "polling", Case: a.name + ", " + interval.String(), Impl: impl, Metric: metric, Value: v, Unit: unit})
	}
	for i, c := range impls {
		r := results[i]
		add(c.name, "mean", r.mean, "s")
		add(c.name, "p50", r.p50, "s")
		add(c.name, "p95", r.p95, "s")
		add(c.name, "p99", r.p99, "s")
		add(c.name, "mean over accounts", r.perAccount, "s")
		add(c.name, "worst account", r.worst, "s")
		add(c.name, "mean", r.mean/fixed.mean, "of fixed")
		add(c.name, "p50", r.p50/fixed.p50, "of fixed")
		add(c.name, "p95", r.p95/fixed.p95, "of fixed")
		add(c.name, "p99", r.p99/fixed.p99, "of fixed")
		add(c.name, "longest gap", r.gap/interval.Seconds(), "intervals")
		add(c.name, "decision", r.nsDecision, "ns")
		add(c.name, "state", float64(c.bytes), "B/account")
	}
	if a.poisson {
		least := leastMean(a, budget)
		add("D*", "mean", least, "s")
		add("D*", "mean", least/fixed.mean, "of fixed")
	}
	return rows, nil
}
