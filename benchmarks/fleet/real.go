package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// inRealTime runs engines of this process on a store.
func inRealTime(o options) (rows []report.Row, err error) {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	open := func(name string) (storage.Store, error) {
		return sqlite.Open(context.Background(), filepath.Join(dir, name+".db"), sqlite.Options{})
	}
	if o.store == "redis" {
		addr, stop, err := startRedis(dir)
		if err != nil {
			return nil, err
		}
		defer stop()
		open = func(name string) (storage.Store, error) {
			return redisstore.Open(context.Background(), &redis.UniversalOptions{Addrs: []string{addr}}, redisstore.Options{Name: name})
		}
	}
	for _, n := range o.nodes {
		add := func(metric string, value float64, unit string) {
			rows = append(rows, report.Row{Bench: "fleet", Case: fmt.Sprintf("%s, %d nodes", o.store, n), Impl: report.Ours, Metric: metric, Value: value, Unit: unit})
		}
		polls, off, err := steady(o, n, open)
		if err != nil {
			return rows, err
		}
		add("polls, by those of one engine", polls, "times")
		add("accounts with another number of polls", off, "share")
		used, most, err := bounded(o, n, open)
		if err != nil {
			return rows, err
		}
		add("FetchRate used when steady", used, "times")
		add("calls in any 10 s while a node leaves and joins, by 10 s of FetchRate and its burst", most, "times")
		rate, err := commits(o, n, open)
		if err != nil {
			return rows, err
		}
		add("commits of 16", rate, "1/s")
	}
	d, err := measureDelays(open)
	if err != nil {
		return rows, err
	}
	for _, measured := range []struct {
		name string
		of   []time.Duration
	}{
		{"a monitor made through one node, to its first poll by the other", d.Made},
		{"a commit of one node, to the frame of the other's WebSocket client", d.Frame},
		{"a commit of one node, to the request that the other sends", d.Hook},
		{"a monitor is paused", d.Paused},
	} {
		for _, q := range []struct {
			name string
			at   float64
		}{{"p50", 0.5}, {"p99", 0.99}} {
			rows = append(rows, report.Row{Bench: "fleet", Case: fmt.Sprintf("%s, %d of: %s", o.store, len(measured.of), measured.name), Impl: report.Ours, Metric: q.name, Value: quantile(measured.of, q.at), Unit: "ms"})
		}
	}
	return append(rows, report.Row{Bench: "fleet", Case: o.store + ", events of monitors that were paused before", Impl: report.Ours, Metric: "count", Value: float64(d.Late), Unit: "events"}), nil
}

// startRedis runs a server of our own, synced every second.
func startRedis(dir string) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free, at least now
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "yes")
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("fleet: redis-server: %w", err)
	}
	stop = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond})
	defer client.Close()
	if err := client.Ping(context.Background()).Err(); err != nil {
		stop()
		return "", nil, fmt.Errorf("fleet: redis-server at %s: %w", addr, err)
	}
	return addr, stop, nil
}

// platform answers at once, with a new post one time in a hundred, and counts.
type platform struct {
	polls []atomic.Int32
	asked atomic.Int64 // accounts that were read at least once
	mu    sync.Mutex
	calls []time.Time
}

func (p *platform) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	i, err := strconv.Atoi(q.Username[1:])
	if err != nil {
		return fetcher.Page{}, err
	}
	now := time.Now()
	if p.polls[i].Add(1) == 1 {
		p.asked.Add(1)
	}
	p.mu.Lock()
	p.calls = append(p.calls, now)
	p.mu.Unlock()
	page := fetcher.Page{OldestAt: now.Add(-24 * time.Hour), UserID: q.Username[1:]}
	if rand.IntN(100) == 0 {
		id := strconv.FormatUint(fetcher.SnowflakeAt(now)+rand.Uint64N(1<<22), 10)
		page.Tweets = []fetcher.Tweet{{ID: id, Username: q.Username, UserID: page.UserID, Text: "a post", FullText: "a post", PublishedAt: now, CreatedAt: fetcher.FormatTime(now)}}
	}
	return page, nil
}

// counts are the polls of each account so far.
func (p *platform) counts() (list []int32) {
	for i := range p.polls {
		list = append(list, p.polls[i].Load())
	}
	return list
}

// most is the most calls in any 10 s since a time.
func (p *platform) most(since time.Time) (most, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := 0
	for i, at := range p.calls {
		if at.Before(since) {
			continue
		}
		all++
		for p.calls[first].Before(since) || at.Sub(p.calls[first]) >= 10*time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most, all
}

// engines are a fleet.
type engines struct {
	o      options
	open   func() (storage.Store, error)
	detect detect.Config
	feed   *platform
	list   []*streamwatch.Engine
	stores []storage.Store
	made   int
}

// monitorAccounts is how many accounts a monitor has.
const monitorAccounts = 100

// start makes one more engine; the first one brings the monitors.
func (e *engines) start() error {
	store, err := e.open()
	if err != nil {
		return err
	}
	e.made++
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: e.feed, Store: store, MinInterval: e.o.interval, DefaultInterval: e.o.interval, Detect: e.detect,
		OnEvent: func(context.Context, deliver.Event) error { return nil },
		Fleet:   &streamwatch.FleetConfig{Name: fmt.Sprintf("node-%d", e.made), Lease: 4 * time.Second},
	})
	if err != nil {
		return errors.Join(err, store.Close(context.Background()))
	}
	for from := 0; e.made == 1 && from < e.o.accounts; from += monitorAccounts {
		var names []string
		for i := from; i < min(from+monitorAccounts, e.o.accounts); i++ {
			names = append(names, username(i))
		}
		if _, err := engine.Monitors().Create(context.Background(), monitor.CreateRequest{Owner: "o", Name: names[0], Usernames: names}); err != nil {
			return err
		}
	}
	e.list, e.stores = append(e.list, engine), append(e.stores, store)
	return engine.Start(context.Background())
}

// stop ends the last one.
func (e *engines) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	last := len(e.list) - 1
	err := errors.Join(e.list[last].Shutdown(ctx), e.stores[last].Close(ctx))
	e.list, e.stores = e.list[:last], e.stores[:last]
	return err
}

// running starts n engines, waits until every account was read, and stops them after f.
func running(o options, n int, name string, open func(string) (storage.Store, error), cfg detect.Config, f func(*engines) error) (err error) {
	e := &engines{o: o, detect: cfg, feed: &platform{polls: make([]atomic.Int32, o.accounts)},
		open: func() (storage.Store, error) { return open(fmt.Sprintf("%s-%d", name, n)) }}
	defer func() {
		for len(e.list) > 0 {
			err = errors.Join(err, e.stop())
		}
	}()
	for range n {
		if err := e.start(); err != nil {
			return err
		}
	}
	for begun := time.Now(); int(e.feed.asked.Load()) < o.accounts; <-time.After(100 * time.Millisecond) {
		if time.Since(begun) > 4*o.interval+time.Minute {
			return fmt.Errorf("fleet: %d of %d accounts were read after %s", e.feed.asked.Load(), o.accounts, time.Since(begun))
		}
	}
	return f(e)
}

// steady counts the polls of two intervals, by two for each account, and the share of the
// accounts that had another number.
func steady(o options, n int, open func(string) (storage.Store, error)) (polls, off float64, err error) {
	err = running(o, n, "steady", open, detect.Config{}, func(e *engines) error {
		before := e.feed.counts()
		<-time.After(2 * o.interval)
		for i, after := range e.feed.counts() {
			got := after - before[i]
			polls += float64(got) / 2 / float64(o.accounts)
			if got != 2 {
				off += 1 / float64(o.accounts)
			}
		}
		return nil
	})
	return polls, off, err
}

// bounded polls with a budget, and has the last node leave and another one join.
func bounded(o options, n int, open func(string) (storage.Store, error)) (used, most float64, err error) {
	rate := max(10, float64(o.accounts)/o.interval.Seconds())
	cfg := detect.Config{Pace: detect.PaceBudget, FetchRate: rate}
	err = running(o, n, "bounded", open, cfg, func(e *engines) error {
		steady := 10 * time.Second
		since := time.Now()
		<-time.After(steady)
		_, all := e.feed.most(since)
		used = float64(all) / steady.Seconds() / rate
		if n > 1 {
			if err := e.stop(); err != nil {
				return err
			}
			<-time.After(steady)
			if err := e.start(); err != nil {
				return err
			}
		}
		<-time.After(steady)
		calls, _ := e.feed.most(since)
		most = float64(calls) / (10*rate + max(float64(n), rate/100)) // bursts are 10 ms' worth, and a call of each node at least
		return nil
	})
	return used, most, err
}

// commits is how many commits of 16 batches, each with an event and the node's fence, n
// nodes make in a second, eight at a time each.
func commits(o options, n int, open func(string) (storage.Store, error)) (perSecond float64, err error) {
	ctx := context.Background()
	var done atomic.Int64
	var working sync.WaitGroup
	errs := make([]error, n)
	lasts := min(5*time.Second, 10*o.interval)
	end := time.Now().Add(lasts)
	for i := range n {
		store, err := open(fmt.Sprintf("commits-%d", n))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, store.Close(ctx)) }()
		st, err := store.(storage.Sharing).Members().Join(ctx, fleet.Node{Name: fmt.Sprint("node-", i), Weight: 1, Lease: time.Minute})
		if err != nil {
			return 0, err
		}
		var number atomic.Int64
		for range 8 {
			working.Go(func() {
				for time.Now().Before(end) && errs[i] == nil {
					var batches []*detect.Batch
					for range 16 {
						k := number.Add(1)
						account := fmt.Sprintf("account:%d-%d", i, k%1000)
						batches = append(batches, &detect.Batch{Fence: st.Fence, Cursor: &detect.Cursor{Target: account, Since: time.Now()}, Events: []deliver.Event{{
							ID: fmt.Sprintf("evt_%d_%d", i, k), Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "m", Owner: "o"},
							TweetID: strconv.FormatInt(k, 10), DetectedAt: time.Now(), Body: []byte(strings.Repeat("x", 1000))}}})
					}
					if err := store.Journal().Commit(ctx, batches); err != nil {
						errs[i] = err
						return
					}
					done.Add(1)
				}
			})
		}
	}
	working.Wait()
	return float64(done.Load()) / lasts.Seconds(), errors.Join(errs...)
}
