package main

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// result is what a contestant showed under one load.
type result struct {
	windows []window
	cpu     float64   // µs per poll, less the Fetcher's
	fetcher float64   // µs per poll
	memory  float64   // bytes per account
	latency []float64 // µs, sorted; empty when saturated

	profiledPolls float64 // while stacks were taken
	stacks        []stack
}

// settle is how long a contestant gets at least to come to an even pace.
const settle = 200 * time.Millisecond

// race has a contestant read every account once, then weighs and times it. The
// rounds are stretches of one run, for starting takes long.
func race(o options, accounts int, l load, start func(*feed, time.Duration, *latencies) (contestant, error)) (result, error) {
	f := newFeed(accounts, o.share)
	seen := &latencies{took: make([]float64, 0, maxLatencies)}
	empty := inUse()
	c, err := start(f, l.interval(accounts), seen)
	if err != nil {
		return result{}, err
	}
	for f.asked.Load() < int64(accounts) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(settle)

	var res result
	release := f.stop(c.polls)
	res.memory = (inUse() - empty) / float64(accounts)
	release()
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
	sampling := max(o.For, settle)
	if l == paced { // a fraction of a core gives few samples
		sampling *= 5
	}
	if res.profiledPolls, res.stacks, err = takeProfile(sampling, c.polls); err != nil {
		return result{}, err
	}
	if err := c.stop(); err != nil {
		return result{}, fmt.Errorf("%d accounts, %s: %w", accounts, l.name, err)
	}
	res.fetcher = f.alone(max(o.For, settle)) / 1000
	res.cpu = median(res.windows, func(w window) float64 { return float64(w.cpu.Nanoseconds()) / 1000 / w.polls }) - res.fetcher
	return res, nil
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
	}
	if len(r.latency) > 0 {
		rows = append(rows, row(kase, impl, "handed over p50", quantile(r.latency, 0.5), "µs"),
			row(kase, impl, "handed over p99", quantile(r.latency, 0.99), "µs"))
	}
	return rows
}
