// Otel measures what tracing takes of the engine's work: a page read, the event on it
// committed, sent as a signed POST, and settled, with and without engineotel. The traces
// go by OTLP to the receiver's process, as does the rest.
//
//	go run ./otel
//	go run ./otel -for 1s -rounds 30
//	go run ./otel -for 1s -rounds 20 -profile cpu.out
//
// There are 16 endpoints with 4 requests in flight each; events are committed in groups
// of up to 64, as they come while a commit runs, each with a page of 20 posts of which one
// is new. Everything is as fast as the backlog of 256 events is worked off. CPU is that
// of the measuring process, which leaves out the receiver.
//
// In a round the contestants take turns of 50 ms until each has had its time; then those
// with traces send what is left of them, which counts as CPU. "ratio" is the median over the
// rounds of a contestant's figure divided by that of "streamwatch" in the same round, which
// has no traces; the medians of the figures themselves are in "rate" and "cpu".
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
)

// contestants are what is measured; the first is what the others are compared with.
var contestants = []struct {
	name   string
	traced bool
	ratio  float64
	times  bool // http.client.request.duration, too
}{
	{report.Ours, false, 0, false},
	{"traces of 1 %", true, 0.01, false},
	{"traces of 1 %, request times", true, 0.01, true},
}

// turn is how long a contestant works before the next one does.
const turn = 50 * time.Millisecond

func main() {
	if sink.Child() {
		return
	}
	var dir, profile string
	opts, err := report.ParseFlags("otel", os.Args[1:], func(fs *flag.FlagSet) {
		fs.StringVar(&dir, "dir", "", "directory for the stores' files; the system's for temporary files by default")
		fs.StringVar(&profile, "profile", "", "write a CPU profile of the second contestant on SQLite to this file, and run nothing else")
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	debug.SetGCPercent(400) // the garbage collector's turns are of everybody's garbage
	rows, err := run(opts, dir, profile)
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(opts report.Options, dir, profile string) (rows []report.Row, err error) {
	if dir, err = os.MkdirTemp(dir, "streamwatch-otel-"); err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	defer os.RemoveAll(dir)
	snk, err := sink.Start(sink.Config{Hosts: endpoints + 1}) // the last takes traces
	if err != nil {
		return nil, err
	}
	defer snk.Stop()
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return nil, fmt.Errorf("otel: %w", err)
		}
		defer f.Close()
		defer pprof.StopCPUProfile()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, fmt.Errorf("otel: %w", err)
		}
		contestants = contestants[1:2]
		_, err = race(opts, snk, dir, "sqlite")
		return nil, err
	}
	for _, store := range []string{"memory", "sqlite"} {
		figures, err := race(opts, snk, dir, store)
		if err != nil {
			return nil, err
		}
		for i, c := range contestants {
			add := func(metric, unit string, value func(own, first figure) float64) {
				var all []float64
				for round, f := range figures[i] {
					all = append(all, value(f, figures[0][round]))
				}
				slices.Sort(all)
				rows = append(rows, report.Row{Bench: "otel", Case: store, Impl: c.name, Metric: metric, Value: (all[len(all)/2] + all[(len(all)-1)/2]) / 2, Unit: unit})
			}
			add("rate", "/s", func(own, _ figure) float64 { return own.rate })
			add("cpu", "µs", func(own, _ figure) float64 { return own.cpu })
			add("rate ratio", "", func(own, first figure) float64 { return own.rate / first.rate })
			add("cpu ratio", "", func(own, first figure) float64 { return own.cpu / first.cpu })
		}
	}
	return rows, nil
}

// race returns figures by contestant and round. All contestants are open all the while,
// and take turns.
func race(opts report.Options, snk *sink.Sink, dir, store string) ([][]figure, error) {
	figures := make([][]figure, len(contestants))
	open := make([]*pipeline, len(contestants))
	for i := range open {
		p, err := openContestant(snk, dir, store, i)
		if err != nil {
			return nil, fmt.Errorf("otel: %w", err)
		}
		defer p.close()
		open[i] = p
	}
	turns := max(1, int(opts.For/turn))
	for round := range opts.Rounds + 1 { // the first is to warm up
		sums := make([]sum, len(open))
		for n := range turns + 1 { // the last is for what is left
			for k := range open {
				i := (k + n + round) % len(open)
				if err := open[i].measure(&sums[i], min(turn, opts.For), n == turns); err != nil {
					return nil, fmt.Errorf("otel: %s on %s: %w", contestants[i].name, store, err)
				}
			}
		}
		for i := range sums {
			if round > 0 {
				figures[i] = append(figures[i], sums[i].figure())
			}
		}
	}
	return figures, nil
}
