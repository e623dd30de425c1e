// Engine measures the whole engine at work: package streamwatch with its
// defaults, a memory store and a handler, on a Fetcher that answers at once from
// pages of 20 posts built beforehand. A poll finds nothing new or, in the share
// -new of all polls, one new post.
//
//	go run ./engine -accounts 10000,100000,1000000
//
// Two loads: saturated, where intervals are so short that ten million polls a
// second are due and the engine is never idle, and 20,000 polls a second, where
// a naive program is measured too, with a goroutine, a ticker and a map for each
// account. CPU is user and system time of the process, garbage collection
// included, and less what a call of the Fetcher takes alone, which is shown.
// Memory is the heap after a collection and the stacks, less the Fetcher's: once
// in normal running, and once after the platform has failed for every account.
// The latency is from Event.DetectedAt to the handler's call.
//
// -cpuprofile FILE writes a profile of the whole run for go tool pprof. Every run
// ends with a check that each post shown was detected and handled once. It needs
// a Unix.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the program's flags.
type options struct {
	report.Options
	accounts []int
	share    float64
	profile  string
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
	o := options{accounts: []int{10_000}}
	var err error
	o.Options, err = report.ParseFlags("engine", args, func(own *flag.FlagSet) {
		report.IntList(own, &o.accounts, "accounts", "how many accounts, a list of 1 to 9999999 (default 10000)", 1, 9_999_999)
		own.Float64Var(&o.share, "new", 0.01, "share of the polls that find a new post, 0 to 1")
		own.StringVar(&o.profile, "cpuprofile", "", "file to write a CPU profile to")
	})
	if err == nil && !(o.share >= 0 && o.share <= 1) {
		err = fmt.Errorf("engine: -new %v is not allowed: want 0 to 1", o.share)
	}
	return o, err
}

// load is how many polls are due in a second.
type load struct {
	name      string
	perSecond float64
}

var (
	saturated = load{"saturated", 10e6}
	paced     = load{"20,000 polls/s", 20e3}
)

func (l load) interval(accounts int) time.Duration {
	return max(time.Microsecond, time.Duration(float64(accounts)/l.perSecond*float64(time.Second)))
}

// maxNaive bounds the accounts of the naive program, which takes about 8 kB for
// each.
const maxNaive = 200_000

func run(o options) error {
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var rows []report.Row
	smallest := map[load]float64{}
	for _, n := range o.accounts {
		for _, l := range []load{saturated, paced} {
			res, err := race(o, n, l, startEngine)
			if err != nil {
				return err
			}
			if smallest[l] == 0 {
				smallest[l] = res.cpu
			}
			kase := fmt.Sprintf("%d accounts, %s", n, l.name)
			rows = append(rows, res.rows(kase, report.Ours)...)
			rows = append(rows, row(kase, report.Ours, "growth", res.cpu/smallest[l], "×"),
				row(kase, "the Fetcher alone", "CPU", res.fetcher, "µs/poll"))
			if l == paced && n <= maxNaive {
				if res, err = race(o, n, l, startNaive); err != nil {
					return err
				}
				rows = append(rows, res.rows(kase, "goroutine+ticker+map")...)
			}
		}
	}
	return report.Write(os.Stdout, o.JSON, rows)
}

func row(kase, impl, metric string, v float64, unit string) report.Row {
	return report.Row{Bench: "engine", Case: kase, Impl: impl, Metric: metric, Value: v, Unit: unit}
}
