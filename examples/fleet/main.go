// Fleet runs two engines that share a store and so the work. When one stops, the other goes on with
// all of it, and no post is lost or delivered twice.
//
//	go run ./examples/fleet
//
// needs no setup and ends by itself: the engines are in one process, with a store in memory. On several
// machines give each the same PostgreSQL or Redis: see docs/fleet.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const interval = 50 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// tally counts the posts by the node that found them.
type tally struct {
	mu sync.Mutex
	by map[string]int
	of map[string]int // by post
}

// add counts a post that a node has found.
func (t *tally) add(node, post string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.by[node]++
	t.of[post]++
}

func (t *tally) posts() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.of)
}

// text says what was found, and by how many nodes since the last call.
func (t *tally) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	once := true
	for _, times := range t.of {
		once = once && times == 1
	}
	text := fmt.Sprintf("%d posts, each once: %v, found by %d nodes", len(t.of), once, len(t.by))
	clear(t.by)
	return text
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	accounts := enginetest.AccountNames(40)
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: accounts})
	store := memory.New(memory.Options{})
	defer store.Close(context.WithoutCancel(ctx))
	found := tally{by: map[string]int{}, of: map[string]int{}}
	nodes := map[string]*streamwatch.Engine{}
	stop := func(name string) error {
		defer delete(nodes, name)
		return nodes[name].Shutdown(ctx)
	}
	defer func() {
		for name := range nodes {
			err = errors.Join(err, stop(name))
		}
	}()
	for _, name := range []string{"one", "two"} {
		nodes[name], err = streamwatch.New(streamwatch.Config{
			Fetcher: platform, Store: store, MinInterval: interval,
			Fleet: &streamwatch.FleetConfig{Name: name},
			OnEvent: func(_ context.Context, e deliver.Event) error {
				found.add(name, e.TweetID)
				return nil
			},
		})
		if err != nil {
			return err
		}
		if err := nodes[name].Start(ctx); err != nil {
			return err
		}
	}
	one, two := nodes["one"], nodes["two"]
	shared := func() bool { return parts(one) > 0 && parts(two) > 0 && parts(one)+parts(two) == fleet.Parts }
	if err := until(ctx, shared); err != nil {
		return err
	}
	// A monitor that is made through one node is everybody's.
	if _, err := one.Monitors().Create(ctx, monitor.CreateRequest{Name: "all", Usernames: accounts, PollInterval: interval}); err != nil {
		return err
	}
	round := func(want int) error {
		for _, name := range accounts {
			platform.Post(name, "hello")
		}
		return until(ctx, func() bool { return found.posts() == want })
	}
	if err := round(len(accounts)); err != nil {
		return err
	}
	fmt.Fprintln(out, "two nodes:", found.text())
	if err := stop("one"); err != nil {
		return err
	}
	if err := round(2 * len(accounts)); err != nil {
		return err
	}
	fmt.Fprintln(out, "one node:", found.text())
	return nil
}

// parts returns how many of the fleet's parts a node has.
func parts(e *streamwatch.Engine) int64 { return e.Stats().Fleet.Parts }

// until waits for a condition.
func until(ctx context.Context, met func() bool) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
