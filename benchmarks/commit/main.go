// Commit measures what recording detections costs: detect.Journal.Commit of each
// store, and of the bare library writing the same bytes in the same run.
//
//	go run ./commit
//	go run ./commit -dir /mnt/disk    # the disk to measure
//	go run ./commit -stored 10000,10000000    # what a store's size changes
//
// A record is an event with a body of 1 KB. A group of them is committed in one
// transaction, as an engine does that found one post in each of n polls: n batches
// of one event, each with its account's cursor. In a second way their source has an
// endpoint bound, which makes a delivery of each event. Ours records more
// than the bytes: the id as known for ever, the owner's sequence number, the
// cursor, what the log shows and searches by, and with an endpoint the delivery, by
// id, by time due and by lane. Deliveries are settled between the measurements, at the latest
// when 1024 are open.
//
// SQLite is compared with its driver: one insert for each record, one transaction
// for each group, prepared, with pages of SQLite's own size and synced as ours is,
// into a table with a unique id, as a program must that stores each post once. Redis is compared with XADD of
// the same bytes, pipelined. A server is started for each way to sync its log.
// PostgreSQL is compared with its driver and one connection: a prepared INSERT of
// arrays with ON CONFLICT, and COPY, one of them for each group, into a table with the
// columns of our events and their unique id. A server with PostgreSQL's own settings is
// started, which syncs each commit.
//
// With -stored, stores on PostgreSQL are filled with so many events of a week that were
// delivered, and as many ids of removed ones, and measured in turns: commits at 300/s with
// their settlements beside them, pages of an owner's log, opening. Then a day passes at
// once, and commits go on while a seventh of the events is removed. Last, a backlog of
// open deliveries is settled.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

func main() {
	var dir string
	var stored []int
	var expiring time.Duration
	opts, err := report.ParseFlags("commit", os.Args[1:], func(own *flag.FlagSet) {
		report.IntList(own, &stored, "stored", "measure stores on PostgreSQL with so many events in place of commits, such as 10000,10000000", 5000, 1<<30)
		own.DurationVar(&expiring, "expiring", 20*time.Second, "with -stored, how long commits go on after a day has passed")
		own.StringVar(&dir, "dir", "", "directory for the files, on the disk to measure; the system's for temporary files by default")
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	measure := commits
	if len(stored) > 0 {
		measure = func(o report.Options, dir string) ([]report.Row, error) { return growth(o, dir, stored, expiring) }
	}
	rows, err := measure(opts, dir)
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var groups = []int{1, 16, 256}

// commits is the case of every group size and backend.
func commits(o report.Options, dir string) (rows []report.Row, err error) {
	dir, err = os.MkdirTemp(dir, "streamwatch-commit-")
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	defer os.RemoveAll(dir)
	servers, stop, err := redisServers(dir)
	if err != nil {
		return nil, err
	}
	defer stop()
	backends := slices.Concat([]backend{memoryBackend(), sqliteBackend(dir)}, servers)
	server, err := postgresServer(dir)
	if err != nil {
		return nil, err
	}
	if server != nil {
		defer server.Close()
		backends = append(backends, postgresBackend(server.URL()))
	}
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
