// Seen compares memories of which posts were seen: internal/seen beside Go's map,
// sync.Map, xsync.Map and a Redis set.
//
//	go run ./seen                         # needs some 15 GB: see -ids and -gcids
//	go run ./seen -redis 127.0.0.1:6379   # a server of your own; its key streamwatch-bench:seen is deleted
//	go run ./seen -verify 100000000       # no figures: against maps, fails on any difference
//
// A page is 20 ids of one account, newest first, and nothing in it is new; an
// account remembers these and one older. Hot is the same account again and
// again, cold one of all at random. Ids are formatted just before they are
// looked up, as if they had just been read from an answer, and that is not
// timed. A set has half of its ids in each generation; the peers' maps never
// forget, and so have less to do.
//
// Contestants for pages take turns; sets are too large for that, so each is
// built, measured and dropped before the next. Without -redis, a redis-server
// in PATH is started, and else there is miniredis, which is not Redis but a
// server in Go of the same protocol. -for below 50 ms takes small sizes.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the program's own flags.
type options struct {
	report.Options
	ids, gcIDs int
	windows    int
	verify     int
	redis      string
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
	var o options
	var err error
	o.Options, err = report.ParseFlags("seen", args, func(own *flag.FlagSet) {
		own.IntVar(&o.ids, "ids", 0, "ids in a set whose time is taken, 1000 to 1e9; 0 for 10 million")
		own.IntVar(&o.gcIDs, "gcids", 0, "ids in a set when the garbage collector's time is taken, 1000 to 1e9; 0 for 50 million")
		own.IntVar(&o.windows, "windows", 0, "accounts, 1 to 1e7; 0 for 100,000")
		own.IntVar(&o.verify, "verify", 0, "check this many operations against maps instead of taking times, up to 1e10")
		own.StringVar(&o.redis, "redis", "", "address of a Redis server to compare with")
	})
	if err != nil {
		return options{}, err
	}
	sizes := [3]int{10_000_000, 50_000_000, 100_000}
	if o.For < 50*time.Millisecond { // a trial
		sizes = [3]int{20_000, 50_000, 500}
	}
	for i, n := range []*int{&o.ids, &o.gcIDs, &o.windows} {
		if *n == 0 {
			*n = sizes[i]
		}
	}
	for _, f := range []struct {
		name               string
		value, least, most int64
	}{
		{"ids", int64(o.ids), 1000, 1e9},
		{"gcids", int64(o.gcIDs), 1000, 1e9},
		{"windows", int64(o.windows), 1, 1e7},
		{"verify", int64(o.verify), 0, 1e10},
	} {
		if f.value < f.least || f.value > f.most {
			return options{}, fmt.Errorf("seen: -%s %d is not allowed: want %d to %d", f.name, f.value, f.least, f.most)
		}
	}
	return o, nil
}

func run(o options) error {
	if o.verify > 0 {
		return verify(os.Stdout, o.verify)
	}
	var rows []report.Row
	for _, part := range []func(options) ([]report.Row, error){windows, sets, overRedis} {
		more, err := part(o)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	byCase(rows)
	return report.Write(os.Stdout, o.JSON, rows)
}

// byCase brings rows of one case together, and the cases in the order they
// first come in.
func byCase(rows []report.Row) {
	first := map[string]int{}
	for i, r := range rows {
		if _, known := first[r.Case]; !known {
			first[r.Case] = i
		}
	}
	slices.SortStableFunc(rows, func(a, b report.Row) int { return first[a.Case] - first[b.Case] })
}

func row(kase, impl, metric string, value float64, unit string) report.Row {
	return report.Row{Bench: "seen", Case: kase, Impl: impl, Metric: metric, Value: value, Unit: unit}
}
