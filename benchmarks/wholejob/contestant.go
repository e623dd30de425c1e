package main

import (
	"fmt"
	"os"
	"runtime/pprof"
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
	Secret   string
	Accounts int
	Interval time.Duration
	Profile  string // file for the CPU profile between begin and end, "" for none
}

// inFlight is how many requests may be under way at once: the engine's default.
const inFlight = 64

// contestants by name. Each begins to work and returns what stops it.
var contestants = []struct {
	name  string
	hooks bool // it sends webhooks
	start func(contestantOrder) (stop func() error, err error)
}{
	{report.Ours, true, startOurs},
	{"afternoon", true, startAfternoon},
	{"request alone", false, startAlone},
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
	for _, c := range contestants {
		if c.name != o.Name {
			continue
		}
		stop, err := c.start(o)
		if err != nil {
			return err
		}
		var before time.Duration
		err = answers("ready", func(command string) (any, error) {
			if command == "begin" {
				if err := startProfile(o.Profile); err != nil {
					return nil, err
				}
				before = cpuTime()
				return before, nil
			}
			used := cpuTime() - before
			pprof.StopCPUProfile()
			return used, nil
		})
		if err != nil {
			return err
		}
		return stop()
	}
	return fmt.Errorf("contestant %q is not known", o.Name)
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
