package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// result is what a contestant showed under one load.
type result struct {
	windows []window
	cpu     float64   // µs per poll, less the Fetcher's
	fetcher float64   // µs per poll
	memory  float64   // bytes per account
	outage  float64   // the same while all accounts fail
	latency []float64 // µs, sorted; empty when saturated
}

// settle is how long a contestant gets at least to come to an even pace.
const settle = 200 * time.Millisecond

// race has a contestant read every account once, then weighs and times it, and
// weighs it again after the platform has failed for every account. The rounds
// are stretches of one run, because starting takes long.
func race(o options, accounts int, l load, start startFunc) (result, error) {
	f := newFeed(accounts, o.share)
	seen := &latencies{took: make([]float64, 0, maxLatencies)}
	empty := report.InUse()
	c, err := start(f, l.interval(accounts), seen)
	if err != nil {
		return result{}, err
	}
	if err := await(&f.asked, accounts); err != nil {
		return result{}, err
	}

	var res result
	weigh := func() float64 {
		release := f.stop(c.polls)
		defer release()
		return (report.InUse() - empty) / float64(accounts)
	}
	res.memory = weigh()
	for measure(settle, c.polls).polls > 1.2*l.perSecond*settle.Seconds() { // it makes up for the halt
	}

	f.posting.Store(true)
	time.Sleep(settle)
	seen.reset()
	for range o.Rounds {
		res.windows = append(res.windows, measure(o.For, c.polls))
	}
	if l == paced { // where nothing queues
		res.latency = seen.taken()
	}
	f.down.Store(true)
	if err := await(&f.failed, accounts); err != nil {
		return result{}, err
	}
	res.outage = weigh()
	if err := c.stop(); err != nil {
		return result{}, fmt.Errorf("%d accounts, %s: %w", accounts, l.name, err)
	}
	res.fetcher = f.alone(max(o.For, settle)) / 1000
	res.cpu = median(res.windows, func(w window) float64 { return float64(w.cpu.Nanoseconds()) / 1000 / w.polls }) - res.fetcher
	return res, nil
}

// await waits until every account is counted, and a moment more.
func await(counted *atomic.Int64, accounts int) error {
	for began := time.Now(); counted.Load() < int64(accounts); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Minute {
			return fmt.Errorf("%d accounts: only %d were polled in 10 minutes", accounts, counted.Load())
		}
	}
	time.Sleep(settle)
	return nil
}

func (r result) rows(kase, impl string) []report.Row {
	of := func(f func(window) float64) float64 { return median(r.windows, f) }
	rows := []report.Row{
		row(kase, impl, "CPU", r.cpu, "µs/poll"),
		row(kase, impl, "rate", of(func(w window) float64 { return w.polls / w.wall.Seconds() }), "polls/s"),
		row(kase, impl, "rate per core", 1e6/r.cpu, "polls/s"),
		row(kase, impl, "busy", of(func(w window) float64 { return w.cpu.Seconds() / w.wall.Seconds() }), "cores"),
		row(kase, impl, "allocations", of(func(w window) float64 { return w.allocs / w.polls }), "1/poll"),
		row(kase, impl, "allocated", of(func(w window) float64 { return w.bytes / w.polls }), "B/poll"),
		row(kase, impl, "memory", r.memory, "B/account"),
		row(kase, impl, "in an outage", r.outage, "B/account"),
	}
	if len(r.latency) > 0 {
		rows = append(rows, row(kase, impl, "handed over p50", report.Quantile(r.latency, 0.5), "µs"),
			row(kase, impl, "handed over p99", report.Quantile(r.latency, 0.99), "µs"))
	}
	return rows
}
