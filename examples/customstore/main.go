package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

func main() {
	path := flag.String("file", "", "the store's `file`, which is kept (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *path); err != nil {
		fmt.Fprintln(os.Stderr, "customstore:", err)
		os.Exit(1)
	}
}

const (
	interval = 100 * time.Millisecond // between two polls of an account
	lasts    = time.Second            // how long the accounts post
	posts    = 20                     // in that time
	missed   = 5                      // posts while no engine runs
	patience = 5 * time.Second        // wait for the last posts, and for the shutdown
)

// run runs two engines on one file, one after the other. The second finds the posts made between
// them, and no event comes twice.
func run(ctx context.Context, w io.Writer, path string) error {
	if path == "" {
		dir, err := os.MkdirTemp("", "customstore")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "streams.jsonl")
	}
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: []string{"nasa", "esa", "jaxa"}})
	err := live(ctx, w, path, platform, posts, func(ctx context.Context) error {
		return platform.Run(ctx, enginetest.PostRate{PerSecond: posts / lasts.Seconds(), Total: posts})
	})
	if err != nil {
		return err
	}
	for i := range missed {
		platform.Post("nasa", fmt.Sprint("while nobody watched: ", i+1))
	}
	fmt.Fprintf(w, "no engine runs; nasa posts %d times\n", missed)
	return live(ctx, w, path, platform, missed, func(context.Context) error { return nil })
}

// live opens the store, runs an engine on it until the handler has got want events, and closes both.
func live(ctx context.Context, w io.Writer, path string, platform *enginetest.Platform, want int, post func(context.Context) error) error {
	store, err := Open(path, Options{})
	if err != nil {
		return err
	}
	handled := make(chan deliver.Event)
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: platform, Store: store, MinInterval: interval,
		OnEvent: func(ctx context.Context, e deliver.Event) error {
			select {
			case handled <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err() // it comes again
			}
		},
	})
	if err != nil {
		return errors.Join(err, store.Close(ctx))
	}
	if err := engine.Start(ctx); err != nil {
		return errors.Join(err, store.Close(ctx))
	}
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{
		Name: "space", Usernames: []string{"nasa", "esa", "jaxa"}, PollInterval: interval,
	})
	if errors.Is(err, monitor.ErrDuplicate) {
		err = nil // of the engine before
	}
	if err == nil {
		posted := make(chan error, 1)
		go func() { posted <- post(ctx) }()
		err = errors.Join(printEvents(ctx, w, handled, want), <-posted)
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(err, engine.Shutdown(stop), summarize(stop, w, store), store.Close(stop))
}

// printEvents prints want events. It does not wait for more.
func printEvents(ctx context.Context, w io.Writer, handled <-chan deliver.Event, want int) error {
	ctx, cancel := context.WithTimeout(ctx, lasts+patience)
	defer cancel()
	for n := range want {
		select {
		case e := <-handled:
			fmt.Fprintf(w, "event %2d: @%s, %s late: %s\n", e.Seq, e.AuthorUsername, e.Latency, e.TextPreview)
		case <-ctx.Done():
			return fmt.Errorf("%d events arrived, want %d: %w", n, want, ctx.Err())
		}
	}
	return nil
}

// summarize tells what is on the disk.
func summarize(ctx context.Context, w io.Writer, store *Store) error {
	delivered, err := store.Ports().Log.Deliveries(ctx, deliver.LogQuery{State: deliver.StateDelivered})
	if err != nil {
		return err
	}
	info, err := os.Stat(store.path)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d deliveries are recorded as done in a file of %d bytes\n", delivered.Total, info.Size())
	return nil
}
