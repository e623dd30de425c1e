// Platform watches a platform of one's own, a message board with a small JSON API: see board.go.
// What an adapter has to keep, fetchertest.TestFetcher checks: see its test.
//
//	go run ./examples/platform -board http://127.0.0.1:8000 ann bob
//
// prints what these users post.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
)

func main() {
	address := flag.String("board", "http://127.0.0.1:8000", "the board's `address`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *address, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "platform:", err)
		os.Exit(1)
	}
}

// run prints the users' posts until ctx ends.
func run(ctx context.Context, out io.Writer, address string, users []string) error {
	source, err := newBoard(address)
	if err != nil {
		return err
	}
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: source,
		OnEvent: func(_ context.Context, e deliver.Event) error {
			_, err := fmt.Fprintf(out, "@%s: %s\n", e.AuthorUsername, e.TextPreview)
			return err
		},
	})
	if err != nil {
		return err
	}
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{Name: "board", Usernames: users, PollInterval: time.Second})
	if err != nil {
		return err
	}
	return engine.Run(ctx)
}
