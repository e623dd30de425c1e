// Endtoend measures an event's whole way through a durable store: recorded, sent
// as a signed POST, answered by 2xx, and the outcome recorded. storage/sqlite,
// storage/redisstore and storage/postgres under package deliver are compared with
// queues that use the same server, asynq on Redis and River on PostgreSQL: their tasks
// make the same POST with net/http and connections kept for all in flight.
//
//	go run ./endtoend
//	go run ./endtoend -dir /mnt/disk    # the disk to measure
//
// The receiver is a process of its own on the same machine. There are 16
// endpoints with 4 requests in flight each, and 64 workers for asynq and River. At "full
// speed" events come as fast as the backlog is worked off: ours in groups of all that
// are waiting, up to 1,024, as the engine's committer groups what polls found, River's
// too, by COPY, asynq's by 16 goroutines that enqueue. At a rate, an event's time is from when it was due to come until
// its 2xx, the commit included; those of the first second do not count, in which connections are made and statements
// prepared.
//
// A Redis server is started for the run, with appendonly and appendfsync
// everysec, and a PostgreSQL server with its own settings, which syncs every commit;
// without one of these its contestants are left out, and a line
// says so. In the table "streamwatch" is the one on SQLite, which syncs every
// commit. asynq looks for tasks every 10 ms when it is idle; its default of 1 s
// would be its latency. River is told of jobs by NOTIFY, and fetches every millisecond
// at most; a second row has its defaults, with which it fetches every 100 ms at most.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/redisserver"
	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/latency"
)

func main() {
	if sink.Child() {
		return
	}
	var dir string
	opts, err := report.ParseFlags("endtoend", os.Args[1:], func(fs *flag.FlagSet) {
		fs.StringVar(&dir, "dir", "", "directory for the stores' files, on the disk to measure; the system's for temporary files by default")
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	rows, err := run(opts, dir)
	if err == nil {
		err = report.Write(os.Stdout, opts.JSON, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// contestant takes events and sends them to the sink.
type contestant interface {
	name() string
	// put records events, which came at their times, to be sent.
	put(came []time.Time) error
	// feeders is how many goroutines put, and how many events each gives at most.
	feeders() (goroutines, group int)
	close()
}

func run(opts report.Options, dir string) (rows []report.Row, err error) {
	dir, err = os.MkdirTemp(dir, "streamwatch-endtoend-")
	if err != nil {
		return nil, fmt.Errorf("endtoend: %w", err)
	}
	defer os.RemoveAll(dir)
	snk, err := sink.Start(sink.Config{Hosts: endpoints})
	if err != nil {
		return nil, err
	}
	defer snk.Stop()
	addr, stop, err := redisserver.Start(filepath.Join(dir, "redis"), "everysec")
	switch {
	case errors.Is(err, redisserver.ErrNone):
		fmt.Fprintln(os.Stderr, "endtoend: NO REDIS:", err)
	case err != nil:
		return nil, err
	default:
		defer stop()
	}
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL may run as another user
		return nil, fmt.Errorf("endtoend: %w", err)
	}
	pg, err := pgtest.Start(filepath.Join(dir, "postgres"))
	switch {
	case errors.Is(err, pgtest.ErrNone):
		fmt.Fprintln(os.Stderr, "endtoend: NO POSTGRESQL:", err)
	case err != nil:
		return nil, err
	default:
		defer pg.Close()
	}
	for _, perSecond := range []int{0, 300, 5000} {
		found, err := race(opts, openers(snk, dir, addr, pg), perSecond)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// race is one case; 0 events a second means as many as go.
func race(opts report.Options, open []func(*meter) (contestant, error), perSecond int) (rows []report.Row, err error) {
	kase := fmt.Sprintf("%d/s", perSecond)
	if perSecond == 0 {
		kase = "full speed"
	}
	rates := make([][]float64, len(open))
	times := make([]latency.Snapshot, len(open))
	names := make([]string, len(open))
	for round := range opts.Rounds {
		for k := range open {
			i := (k + round) % len(open)
			m := newMeter()
			c, err := open[i](m)
			if err != nil {
				return nil, fmt.Errorf("endtoend: %w", err)
			}
			names[i] = c.name()
			rate, err := m.measure(c, perSecond, opts.For)
			c.close()
			if err != nil {
				return nil, fmt.Errorf("endtoend: %s: %w", c.name(), err)
			}
			rates[i] = append(rates[i], rate)
			times[i] = times[i].Add(m.took.Snapshot())
		}
	}
	for i := range open {
		row := func(metric string, value float64, unit string) {
			rows = append(rows, report.Row{Bench: "endtoend", Case: kase, Impl: names[i], Metric: metric, Value: value, Unit: unit})
		}
		s := times[i]
		row("rate", report.Quantile(rates[i], 0.5), "/s")
		row("p50", float64(s.Quantile(0.5).Microseconds())/1000, "ms")
		row("p99", float64(s.Quantile(0.99).Microseconds())/1000, "ms")
	}
	return rows, nil
}
