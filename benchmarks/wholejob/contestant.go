package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"syscall"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// contestantOrder says what a contestant is to do.
type contestantOrder struct {
	Name     string
	Dir      string // for its files, the same after a kill
	URL      string // of the platform
	Hook     string // of the receiver
	Traces   string // where traces go by OTLP
	Secret   string
	Accounts int
	Interval time.Duration
	Page     int    // posts to ask for
	InFlight int    // requests that may be under way at once
	First    int64  // number of the first account
	Profile  string // file for the CPU profile between begin and end, "" for none
}

// inFlight is how many requests may be under way at once: the engine's default.
const inFlight = 64

// alone is the contestant that only asks.
const alone = "request alone"

// contestant is one who does the job. It begins to work and returns what stops it.
type contestant struct {
	name  string
	keeps bool // it sends after a kill what it found before
	start func(contestantOrder) (stop func() error, err error)
}

var contestants = []contestant{
	{report.Ours, true, startOurs},
	{report.Ours + " with Gather", true, startGathered},
	{report.Ours + " by HTTP/1.1", true, startOursHTTP1},
	{report.Ours + " with traces", true, startTraced},
	{"afternoon", false, startAfternoon},
	{benthos, false, nil}, // a program of its own
	{alone, false, startAlone},
}

// called is the contestant of a name.
func called(name string) contestant {
	i := slices.IndexFunc(contestants, func(c contestant) bool { return c.name == name })
	return contestants[i]
}

func names() (list []string) {
	for _, c := range contestants {
		list = append(list, c.name)
	}
	return list
}

// runContestant is the process of a contestant. Commands: begin, and end, which tells
// the CPU time between them.
func runContestant(o contestantOrder) error {
	stop, err := called(o.Name).start(o)
	if err != nil {
		return err
	}
	var before time.Duration
	err = answers("ready", func(command string) (any, error) {
		switch command {
		case "begin":
			if err := startProfile(o.Profile); err != nil {
				return nil, err
			}
			before = cpuTime()
			return before, nil
		case "end":
			used := cpuTime() - before
			pprof.StopCPUProfile()
			return used, nil
		}
		return nil, fmt.Errorf("command %q is not known", command)
	})
	return errors.Join(err, stop())
}

func startProfile(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file) // ends with the process
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}

// cpuTime is the processor time that the process has used, in user and kernel mode,
// its garbage collector's included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
