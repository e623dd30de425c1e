package main

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/storage"
)

// backend is where records go: through our store, and by the bare library.
type backend struct {
	name  string
	open  func(name string) (storage.Store, error) // empty
	peers []peer
}

// peer is the bare library; name is one that was not used before.
type peer struct {
	impl string
	open func(name string) (writer, error)
}

// writer commits groups of records. There is only one at a time.
type writer interface {
	// write commits a group: only this is timed.
	write(g *group) error
	// rest does the untimed work after each group.
	rest() error
	// stored counts the records.
	stored() (int, error)
	close() error
}

// runner is a writer under way and its figures.
type runner struct {
	kase, impl string
	w          writer
	made       int       // records
	perSecond  []float64 // by round
	cpu        []float64 // µs of this process for a record, by round
	took       []float64 // µs of a commit, over all rounds
}

// race lets our store in its two ways, and the peers, take turns.
func race(o report.Options, b backend, size int) (rows []report.Row, err error) {
	var runners []*runner
	defer func() {
		for _, r := range runners {
			if cerr := r.w.close(); err == nil {
				err = cerr
			}
		}
	}()
	add := func(kase, impl string, open func(name string) (writer, error)) error {
		w, err := open(fmt.Sprintf("%d-%d", size, len(runners)))
		if err != nil {
			return err
		}
		runners = append(runners, &runner{kase: kase, impl: impl, w: w, made: size})
		return w.write(newGroup(0, size)) // the first one prepares statements and scripts
	}
	for _, way := range ways {
		kase := fmt.Sprintf("%s, %s, groups of %d", b.name, way.name, size)
		err := add(kase, report.Ours, func(name string) (writer, error) {
			s, err := b.open(name)
			if err != nil {
				return nil, err
			}
			return newOurs(s, way)
		})
		if err != nil {
			return nil, err
		}
	}
	for _, p := range b.peers {
		if err := add("", p.impl, p.open); err != nil {
			return nil, err
		}
	}
	for round := range o.Rounds {
		for i := range runners {
			r := runners[(i+round)%len(runners)]
			if err := r.run(o.For, size); err != nil {
				return nil, fmt.Errorf("%s: %w", r.impl, err)
			}
		}
	}
	for _, r := range runners {
		if n, err := r.w.stored(); err != nil || n != r.made {
			return nil, fmt.Errorf("%s has %d records, want %d (%v)", r.impl, n, r.made, err)
		}
	}
	ours, peers := runners[:len(ways)], runners[len(ways):]
	for _, r := range ours {
		rows = append(rows, r.rows(r.kase)...)
		for _, p := range peers {
			rows = append(rows, p.rows(r.kase)...)
			rows = append(rows, report.Row{Bench: "commit", Case: r.kase, Impl: p.impl, Metric: "ours to this", Value: ratio(r, p), Unit: "×"})
		}
	}
	return rows, nil
}

// run commits groups for about d.
func (r *runner) run(d time.Duration, size int) error {
	var sum, busy time.Duration
	records := 0
	for sum < d {
		g := newGroup(r.made, size)
		used, start := report.CPU(), time.Now()
		err := r.w.write(g)
		took := time.Since(start)
		busy += report.CPU() - used
		if err != nil {
			return err
		}
		r.took = append(r.took, float64(took.Nanoseconds())/1000)
		r.made += size
		records += size
		sum += took
		if err := r.w.rest(); err != nil {
			return err
		}
	}
	r.perSecond = append(r.perSecond, float64(records)/sum.Seconds())
	r.cpu = append(r.cpu, float64(busy.Microseconds())/float64(records))
	return nil
}

// ratio is the median over the rounds of what ours records in the time in which
// the peer records one.
func ratio(ours, peer *runner) float64 {
	ratios := make([]float64, len(ours.perSecond))
	for i := range ratios {
		ratios[i] = ours.perSecond[i] / peer.perSecond[i]
	}
	return report.Quantile(ratios, 0.5)
}

func (r *runner) rows(kase string) []report.Row {
	row := func(metric string, v float64, unit string) report.Row {
		return report.Row{Bench: "commit", Case: kase, Impl: r.impl, Metric: metric, Value: v, Unit: unit}
	}
	return []report.Row{
		row("time", 1e6/report.Quantile(r.perSecond, 0.5), "µs/record"),
		row("rate", report.Quantile(r.perSecond, 0.5), "records/s"),
		row("CPU", report.Quantile(r.cpu, 0.5), "µs/record"),
		row("commit p50", report.Quantile(r.took, 0.5), "µs"),
		row("commit p99", report.Quantile(r.took, 0.99), "µs"),
	}
}

var background = context.Background()
