// Commit measures what recording detections costs: detect.Journal.Commit of each
// store beside the bare library writing the same bytes, in the same run.
//
//	go run ./commit
//	go run ./commit -redis 127.0.0.1:6379   # a server of your own; its keys {streamwatch-bench-commit}:* are deleted
//	go run ./commit -recovery               # instead: how long until the first poll after a restart
//
// A record is an event with a body of 1 KB. A group of them is committed in one
// transaction, in one of three ways: as an engine does that found one post in
// each of n polls (n batches of one event, each with its account's cursor), as
// one batch, and as n batches whose source has an endpoint bound, which makes a
// delivery of each event. The first is the one to compare. Ours records more
// than the bytes: the id as known for ever, the owner's sequence number, the
// cursor, what the log shows and searches by, and with an endpoint the delivery, by
// id, by time due and by lane. Deliveries are settled beside that, at the latest when
// 1024 are open.
//
// Beside SQLite stands its driver: one insert for each record, one transaction
// for each group, prepared, with pages of SQLite's own size, synced as ours is. "unique id" can tell what is known, as a program must that has to
// store each post once; "no id" only appends. Beside Redis stands XADD of the
// same bytes, pipelined. A server is started for each way to sync its log.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// options are the program's flags.
type options struct {
	report.Options
	dir      string
	redis    string
	recovery bool
	known    int
	pending  int
}

func main() {
	if runAsChild() {
		return
	}
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
func parse(args []string) (o options, err error) {
	o.Options, err = report.ParseFlags("commit", args, func(own *flag.FlagSet) {
		own.StringVar(&o.dir, "dir", "", "directory for the files, on the disk to measure; the system's for temporary files by default")
		own.StringVar(&o.redis, "redis", "", "address of a Redis server; by default one is started, if there is one on the PATH")
		own.BoolVar(&o.recovery, "recovery", false, "measure a restart instead")
		own.IntVar(&o.known, "known", 1_000_000, "events that the restarted store knows, 1 or more")
		own.IntVar(&o.pending, "pending", 100_000, "deliveries that are still open then, up to -known")
	})
	if err == nil && (o.known < 1 || o.pending < 0 || o.pending > o.known) {
		err = fmt.Errorf("commit: -known %d and -pending %d are not allowed: want 1 or more known, and 0 to as many pending", o.known, o.pending)
	}
	return o, err
}

var groups = []int{1, 16, 256}

func run(o options) error {
	measure := commits
	if o.recovery {
		measure = recoveries
	}
	rows, err := measure(o)
	if err != nil {
		return err
	}
	return report.Write(os.Stdout, o.JSON, rows)
}

// commits is the case of every group size and backend.
func commits(o options) (rows []report.Row, err error) {
	dir, err := os.MkdirTemp(o.dir, "streamwatch-commit-")
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	defer os.RemoveAll(dir)
	servers, stop, err := redisServers(o, dir)
	if err != nil {
		return nil, err
	}
	defer stop()
	backends := slices.Concat([]backend{memoryBackend(), sqliteBackend(dir)}, servers)
	for _, b := range backends {
		for _, group := range groups {
			found, err := race(o, b, group)
			if err != nil {
				return nil, fmt.Errorf("commit: %s, groups of %d: %w", b.name, group, err)
			}
			rows = append(rows, found...)
		}
	}
	return rows, nil
}
