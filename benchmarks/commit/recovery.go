package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// childTask is the environment variable with the task of a process that this
// program starts of itself, so that memory is that of the restart alone and a
// store can end without being closed.
const childTask = "STREAMWATCH_BENCH_COMMIT_TASK"

// task of a child.
type task struct {
	SQLite, Redis  string // file, or address
	Fill           bool   // fill the store, else restart on it
	Close          bool   // close it after filling; else the process just ends
	Known, Pending int
}

// restarted is what a restart took. Times are nanoseconds since it began.
type restarted struct {
	Opened, FirstPoll, Drained time.Duration
	Peak, Steady               int64 // bytes resident: until drained, and after a second more
}

// runAsChild does the task of a child, if this is one.
func runAsChild() bool {
	doc := os.Getenv(childTask)
	if doc == "" {
		return false
	}
	var t task
	err := json.Unmarshal([]byte(doc), &t)
	if err == nil {
		if t.Fill {
			err = t.fill()
		} else {
			err = t.restart()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func (t task) open() (storage.Store, error) {
	if t.SQLite != "" {
		return sqlite.Open(background, t.SQLite, sqlite.Options{MaxEvents: 2 * t.Known})
	}
	return redisstore.Open(background, &redis.UniversalOptions{Addrs: []string{t.Redis}},
		redisstore.Options{Name: keys, MaxEvents: 2 * t.Known, RetryFor: time.Minute})
}

// monitors watch all accounts, 100 each.
const perMonitor = 100

func watched(i int) string { return fmt.Sprintf("mon_%012d", i) }

// fill commits the events, in groups as an engine does; the newest are pending.
func (t task) fill() error {
	s, err := t.open()
	if err != nil {
		return err
	}
	for i := range accounts / perMonitor {
		m := monitor.Monitor{ID: watched(i), Owner: owner, Name: fmt.Sprint("monitor ", i), Status: monitor.Active, PollInterval: time.Minute}
		for a := range perMonitor {
			m.Accounts = append(m.Accounts, monitor.Account{Username: account(i*perMonitor + a)})
		}
		if err := s.Monitors().Create(background, m); err != nil {
			return err
		}
	}
	for made := 0; made < t.Known; {
		g := newGroup(made, min(256, t.Known-made))
		for i := range g.events {
			if made+i >= t.Known-t.Pending {
				g.events[i].Handlers = []string{"default"} // Config.OnEvent
			}
		}
		batches := ways[0].batches(g)
		for _, b := range batches {
			b.DeliverBy = time.Now()
		}
		if err := s.Journal().Commit(background, batches); err != nil {
			return err
		}
		made += len(g.events)
	}
	if !t.Close {
		return nil // the file is as a killed process leaves it
	}
	return s.Close(background)
}

// restart runs an engine on the store until everything pending is delivered.
func (t task) restart() error {
	begun := time.Now()
	var r restarted
	s, err := t.open()
	if err != nil {
		return err
	}
	r.Opened = time.Since(begun)
	polled := make(chan time.Duration, 1)
	e, err := streamwatch.New(streamwatch.Config{
		Store:   s,
		Fetcher: firstPoll{begun, polled},
		OnEvent: func(context.Context, deliver.Event) error { return nil },
		Detect:  detect.Config{DeliverBy: time.Minute},
	})
	if err != nil {
		return err
	}
	if err := e.Start(background); err != nil {
		return err
	}
	r.FirstPoll = <-polled
	for delivered := int64(0); delivered < int64(t.Pending); time.Sleep(10 * time.Millisecond) {
		delivered = e.Stats().Deliver.Delivered
	}
	r.Drained = time.Since(begun)
	if r.Peak, err = resident("VmHWM"); err != nil {
		return err
	}
	time.Sleep(time.Second)
	if r.Steady, err = resident("VmRSS"); err != nil {
		return err
	}
	if err := errors.Join(e.Shutdown(background), s.Close(background)); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// firstPoll is a platform without posts that tells when it is first asked.
type firstPoll struct {
	begun  time.Time
	polled chan<- time.Duration
}

func (f firstPoll) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	select {
	case f.polled <- time.Since(f.begun):
	default:
	}
	return fetcher.Page{}, nil
}

// recoveries restarts on each backend, once after Close and once after an end
// without it.
func recoveries(o options) (rows []report.Row, err error) {
	dir, err := os.MkdirTemp(o.dir, "streamwatch-recovery-")
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	defer os.RemoveAll(dir)
	tasks := map[string]task{}
	names := []string{"SQLite, closed", "SQLite, killed"}
	tasks[names[0]] = task{SQLite: filepath.Join(dir, "closed.db"), Close: true}
	tasks[names[1]] = task{SQLite: filepath.Join(dir, "killed.db")}
	addr := o.redis
	if path, lookErr := exec.LookPath("redis-server"); addr == "" && lookErr == nil {
		server, stop, err := startRedis(path, filepath.Join(dir, "redis"), "everysec")
		if err != nil {
			return nil, err
		}
		defer stop()
		addr = server
	}
	if addr != "" {
		names = append(names, "Redis")
		tasks["Redis"] = task{Redis: addr, Close: true}
	} else {
		fmt.Fprintln(os.Stderr, "commit: NO REDIS: there is no redis-server on the PATH, and -redis names none")
	}
	for _, name := range names {
		t := tasks[name]
		t.Known, t.Pending, t.Fill = o.known, o.pending, true
		if _, err := t.start(); err != nil {
			return nil, fmt.Errorf("commit: fill %s: %w", name, err)
		}
		t.Fill = false
		out, err := t.start()
		if err != nil {
			return nil, fmt.Errorf("commit: restart on %s: %w", name, err)
		}
		var r restarted
		if err := json.Unmarshal(out, &r); err != nil {
			return nil, fmt.Errorf("commit: restart on %s: %w", name, err)
		}
		rows = append(rows, r.rows(fmt.Sprintf("%s, %d known, %d pending", name, o.known, o.pending))...)
	}
	return rows, nil
}

// start runs the task in a process of its own.
func (t task) start() ([]byte, error) {
	doc, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childTask+"="+string(doc))
	child.Stderr = os.Stderr
	return child.Output()
}

func (r restarted) rows(kase string) []report.Row {
	row := func(metric string, v float64, unit string) report.Row {
		return report.Row{Bench: "commit", Case: kase, Impl: report.Ours, Metric: metric, Value: v, Unit: unit}
	}
	const mib = 1 << 20
	return []report.Row{
		row("first poll", r.FirstPoll.Seconds(), "s"),
		row("opened", r.Opened.Seconds(), "s"),
		row("all delivered", r.Drained.Seconds(), "s"),
		row("peak", float64(r.Peak)/mib, "MiB"),
		row("steady", float64(r.Steady)/mib, "MiB"),
		row("peak to steady", float64(r.Peak)/float64(r.Steady), "×"),
	}
}
