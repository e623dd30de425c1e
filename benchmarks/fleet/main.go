// Fleet measures what several engines on one store do together.
//
//	go run ./fleet -virtual -nodes 100 -accounts 10000000 -for 1h -crashes 10 -deploy
//
// is in VIRTUAL TIME (testing/synctest): so many nodes, each the membership of an engine
// (internal/node) on one store in memory, begin, are joined by one more, crash and are
// replaced, and with -deploy are stopped and started again one after the other. A call
// to the store takes 2 ms, stopping the polls of parts 20 ms and beginning them 100 ms;
// what the machine computes takes no time. No engine polls: every part's owners are noted, with the
// moments at which they began and ended, and each account is polled at its moments (whole
// intervals and its phase, as detect does it) by whoever has its part then. All accounts count
// for how loaded a node is; polls are followed for a sample of at most 100,000, every
// n-th by name. It says when parts and polls come to whom; it says nothing
// about the machine, the store or the network.
//
//   - "crash": from the last poll of a node that died to the first elsewhere, less the
//     interval, of all accounts that it had; "to the owner" is from the crash until another
//     node has begun the part. A moment that nobody polled at is made up for when the part
//     is begun.
//   - "planned stop": from the moment when a node stops polling a part until another has begun it.
//   - "node added": how many parts moved, in how many beats (a quarter of a lease each),
//     and how many parts the most loaded node had then.
//   - "polls": made in place of those that one engine would have made, and those
//     that two nodes made at once.
//   - "budget": the highest sum of the rates that nodes had, and the lowest when steady, as a
//     share of the whole.
//
// With -store redis, or sqlite, it is in REAL TIME, on a server or file of its own:
//
//	go run ./fleet -store redis -nodes 1,2,4 -accounts 100000
//
// runs engines of this process, and says for each number of nodes how many polls each
// account gets in two intervals, how many calls are made in any 10 s under a FetchRate
// while a node leaves and another joins, and how many commits of 16 events the nodes
// make in a second without engines; then how long it takes until what happens on one of two
// nodes has its effect on the other.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the flags.
type options struct {
	report.Options
	virtual  bool
	nodes    []int
	accounts int
	crashes  int
	deploy   bool
	interval time.Duration
	store    string // of engines, "" for virtual time
	seed     uint64
}

func parse(args []string) (o options, err error) {
	var nodes string
	o.Options, err = report.ParseFlags("fleet", args, func(fs *flag.FlagSet) {
		fs.BoolVar(&o.virtual, "virtual", false, "in virtual time, without engines: the default without -store")
		fs.StringVar(&o.store, "store", "", "engines in real time on a `store`: redis or sqlite")
		fs.StringVar(&nodes, "nodes", "100", "how many nodes")
		fs.IntVar(&o.accounts, "accounts", 10_000_000, "how many accounts")
		fs.IntVar(&o.crashes, "crashes", 10, "how many nodes crash")
		fs.BoolVar(&o.deploy, "deploy", false, "stop and start every node, one after the other")
		fs.DurationVar(&o.interval, "interval", time.Minute, "between two polls of an account")
		fs.Uint64Var(&o.seed, "seed", 1, "of what is left to chance")
	})
	if err != nil {
		return o, err
	}
	least := 2
	if o.store != "" {
		least = 1
	}
	if o.store != "" || o.For >= 10*time.Minute {
	} else if o.For < 50*time.Millisecond { // only to see that it works
		o.For, nodes, o.accounts, o.crashes, o.deploy = 10*time.Minute, "5", 10_000, 2, true
	} else {
		o.For = time.Hour
	}
	for word := range strings.SplitSeq(nodes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < least || n > 1000 {
			return o, fmt.Errorf("fleet: -nodes %q is not allowed: want %d to 1000", nodes, least)
		}
		o.nodes = append(o.nodes, n)
	}
	switch {
	case o.store != "" && o.store != "redis" && o.store != "sqlite" || o.store != "" && o.virtual:
		return o, fmt.Errorf("fleet: -store %q is not allowed: want redis or sqlite, without -virtual", o.store)
	case o.accounts < 1000:
		return o, fmt.Errorf("fleet: -accounts %d is not allowed: want at least 1,000", o.accounts)
	case o.crashes < 0 || o.crashes > 100:
		return o, fmt.Errorf("fleet: -crashes %d is not allowed: want 0 to 100", o.crashes)
	case o.interval < time.Second || o.store == "" && o.interval > o.For/4:
		return o, fmt.Errorf("fleet: -interval %s is not allowed: want 1s to a quarter of -for", o.interval)
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if o.store != "" {
		rows, err := inRealTime(o)
		if err := errors.Join(err, report.Write(os.Stdout, o.JSON, rows)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	inTest(func(t *testing.T) error {
		var rows []report.Row
		for _, n := range o.nodes {
			rows = append(rows, inVirtualTime(t, o, n).rows()...)
		}
		return report.Write(os.Stdout, o.JSON, rows)
	})
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
	test := testing.InternalTest{Name: "fleet", F: func(t *testing.T) {
		os.Stdout = out
		defer func() { os.Stdout = null }()
		if err := fn(t); err != nil {
			fmt.Fprintln(os.Stderr, err)
			t.Fail()
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{test}, nil, nil)
}
