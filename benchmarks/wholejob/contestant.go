package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// contestantOrder says what a contestant is to do.
type contestantOrder struct {
	Name     string
	Dir      string // for its files, the same after a kill
	URL      string // of the platform
	Hook     string // of the receiver
	Secret   string
	Accounts int
	Interval time.Duration
	Profile  string // file for the CPU profile between begin and end, "" for none
}

// inFlight is how many requests may be under way at once: the engine's default.
const inFlight = 64

// alone is the contestant that only asks.
const alone = "request alone"

// contestant is one who does the job. It begins to work and returns what stops it.
type contestant struct {
	name  string
	keeps bool // it sends after a kill the posts found before
	start func(contestantOrder) (stop func() error, err error)
}

var contestants = []contestant{
	{report.Ours, true, startOurs},
	{report.Ours + " with Gather", true, startGathered},
	{"afternoon", false, startAfternoon},
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
			before = report.CPU()
			return before, nil
		case "end":
			used := report.CPU() - before
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
