package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// contestant watches all accounts of a feed.
type contestant interface {
	polls() int64
	// stop ends it, and is an error unless it did all it should and nothing else.
	stop() error
}

// monitorAccounts is how many accounts a monitor has: the engine's default
// bound.
const monitorAccounts = 100

// engine is streamwatch as a program would embed it: the defaults, a memory
// store and a handler.
type engine struct {
	*streamwatch.Engine
	feed *feed
	seen *latencies
}

// startFunc starts a contestant on a feed, with the interval of its polls.
type startFunc func(*feed, time.Duration, *latencies) (contestant, error)

func startEngine(f *feed, interval time.Duration, seen *latencies) (contestant, error) {
	e, err := streamwatch.New(streamwatch.Config{
		Fetcher: f, MinInterval: interval, DefaultInterval: interval,
		OnEvent: func(_ context.Context, ev deliver.Event) error {
			seen.add(time.Since(ev.DetectedAt))
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	for from := 0; from < len(f.accounts); from += monitorAccounts {
		var names []string
		for i := from; i < min(from+monitorAccounts, len(f.accounts)); i++ {
			names = append(names, username(i))
		}
		if _, err := e.Monitors().Create(ctx, monitor.CreateRequest{Name: names[0], Usernames: names}); err != nil {
			return nil, err
		}
	}
	return &engine{e, f, seen}, e.Start(ctx)
}

func (e *engine) polls() int64 { return e.Stats().Detect.Polls }

func (e *engine) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Shutdown(ctx); err != nil {
		return err
	}
	s, shown := e.Stats().Detect, e.feed.shown.Load()
	wrong := s.PollErrors - e.feed.errors.Load() + s.Panics + s.Gaps + s.Known + s.CommitErrors +
		s.Dropped.NoID + s.Dropped.NoTime + s.Dropped.Future + s.Dropped.Author + s.Dropped.Excess + s.Dropped.SameID
	if s.Events != shown || e.seen.handled() != shown || wrong != 0 {
		return fmt.Errorf("engine: %d posts were shown, %d detected, %d handled, with %d faults: %+v", shown, s.Events, e.seen.handled(), wrong, s)
	}
	return nil
}

// naive is what one would write first: a goroutine, a ticker and a map for
// each account, and one channel to the handler. It keeps nothing, encodes
// nothing, and forgets no id.
type naive struct {
	feed   *feed
	count  atomic.Int64
	seen   *latencies
	cancel context.CancelFunc
	loops  sync.WaitGroup
	events chan detected
	done   chan struct{}
	fault  atomic.Pointer[error]
}

type detected struct {
	tweet fetcher.Tweet
	at    time.Time
}

func startNaive(f *feed, interval time.Duration, seen *latencies) (contestant, error) {
	ctx, cancel := context.WithCancel(context.Background())
	n := &naive{feed: f, seen: seen, cancel: cancel, events: make(chan detected, 1024), done: make(chan struct{})}
	go func() {
		defer close(n.done)
		for d := range n.events {
			seen.add(time.Since(d.at))
		}
	}()
	for i := range f.accounts {
		n.loops.Go(func() { n.watch(ctx, username(i), interval) })
	}
	return n, nil
}

func (n *naive) watch(ctx context.Context, name string, interval time.Duration) {
	seen := map[string]struct{}{}
	n.poll(name, seen) // posts that are there already are not news
	phase := time.NewTimer(rand.N(interval))
	defer phase.Stop()
	select {
	case <-ctx.Done():
		return
	case <-phase.C:
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		for _, tw := range n.poll(name, seen) {
			n.events <- detected{tw, time.Now()}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *naive) poll(name string, seen map[string]struct{}) []fetcher.Tweet {
	pg, err := n.feed.Timeline(context.Background(), fetcher.TimelineQuery{Username: name, Seen: func(id string) bool {
		_, ok := seen[id]
		return ok
	}})
	if err != nil && !errors.Is(err, errDown) {
		n.fault.Store(&err)
	}
	for i := range pg.Tweets {
		seen[pg.Tweets[i].ID] = struct{}{}
	}
	n.count.Add(1)
	return pg.Tweets
}

func (n *naive) polls() int64 { return n.count.Load() }

func (n *naive) stop() error {
	n.cancel()
	n.loops.Wait()
	close(n.events)
	<-n.done
	if err := n.fault.Load(); err != nil {
		return *err
	}
	if shown := n.feed.shown.Load(); n.seen.handled() != shown {
		return fmt.Errorf("naive: %d posts were shown, %d handled", shown, n.seen.handled())
	}
	return nil
}
