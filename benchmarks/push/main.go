// Push measures how late and how completely posts are found with a stream that a
// platform pushes, beside polls alone that make as many calls, on the fake platform of
// package enginetest:
//
//	go run ./push
//
// All cases but the last are in VIRTUAL TIME (testing/synctest): waits are exact, and
// what the machine computes takes no time. So they say what is lost, how long posts wait
// for timers, reconnects and polls, and how many polls are made; they say nothing about
// the machine. The last case is in real time, without faults: from the platform's post
// to the handler, on this machine.
//
// A case in virtual time is a day of 500 accounts, of which the first two hours do not
// count for the latency, and a replay is the same in every run: it is made once, whatever
// -rounds says. Polls alone have the calls of the stream's run as their budget
// (detect.PaceBudget, which finds more than a fixed interval), or one a day and account
// where that is more. Latency is from when a post can be seen until the handler has it,
// less the delay that the platform gives its stream. -for below 50 ms takes 50 accounts
// and 4 hours.
package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

func main() {
	opts, err := report.ParseFlags("push", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	inTest(func(t *testing.T) error { return run(t, opts) })
}

// inTest calls fn as a test, for only tests have virtual time, and ends the program.
// What package testing prints is dropped.
func inTest(fn func(t *testing.T) error) {
	out := os.Stdout
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Args, os.Stdout = os.Args[:1], null // the flags are read
	test := testing.InternalTest{Name: "push", F: func(t *testing.T) {
		os.Stdout = out
		defer func() { os.Stdout = null }()
		if err := fn(t); err != nil {
			fmt.Fprintln(os.Stderr, err)
			t.Fail()
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{test}, nil, nil)
}

// pollsAlone is the contestant without a stream.
const pollsAlone = "polls alone, the same calls"

func run(t *testing.T, opts report.Options) error {
	accounts, lasts := 500, 24*time.Hour
	if opts.For < 50*time.Millisecond {
		accounts, lasts = 50, 4*time.Hour
	}
	var rows []report.Row
	for _, c := range cases() {
		w := world{streamCase: c, accounts: accounts, lasts: lasts}
		pushed, err := w.inVirtualTime(t, 0)
		if err != nil {
			return fmt.Errorf("push: %s: %w", c.name, err)
		}
		polled, err := w.inVirtualTime(t, max(pushed.calls, accounts*int(lasts/time.Hour)/24))
		if err != nil {
			return fmt.Errorf("push: %s, polls alone: %w", c.name, err)
		}
		rows = append(rows, pushed.rows(c.name+", virtual time", report.Ours)...)
		rows = append(rows, polled.rows(c.name+", virtual time", pollsAlone)...)
	}
	took, err := inRealTime(t.Context(), opts.For*time.Duration(opts.Rounds))
	if err != nil {
		return fmt.Errorf("push: real time: %w", err)
	}
	return report.Write(os.Stdout, opts.JSON, append(rows, took.rows("no faults, real time", report.Ours)...))
}
