// Alerts calls a function for the posts of accounts that contain a word, and says when an account
// cannot be read. Its test is the example of how to test such a program: with a fake platform, in
// virtual time, in which hours pass in moments.
//
//	go run ./examples/alerts -word release Gargron Mastodon
//
// prints such posts of these accounts of mastodon.social.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
)

func main() {
	word := flag.String("word", "", "print posts with this word only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	source, err := mastodon.New(mastodon.Config{BaseURL: "https://mastodon.social"})
	if err == nil {
		err = watch(ctx, source, *word, flag.Args(), func(line string) { fmt.Println(line) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "alerts:", err)
		os.Exit(1)
	}
}

// watch calls say, from several goroutines, until ctx ends. It takes the platform as an argument, so
// that a test can pass another.
func watch(ctx context.Context, platform fetcher.Fetcher, word string, accounts []string, say func(line string)) error {
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: platform,
		OnEvent: func(_ context.Context, e deliver.Event) error {
			post, err := deliver.ParseBody(e.Body)
			if err == nil && strings.Contains(strings.ToLower(post.TweetText), strings.ToLower(word)) {
				say(fmt.Sprintf("@%s: %s", post.AuthorUsername, post.TweetText))
			}
			return err
		},
		OnTrouble: func(t detect.Trouble) {
			if t.Err != nil {
				say("cannot read @" + t.Username)
			}
		},
	})
	if err != nil {
		return err
	}
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{Name: "alerts", Usernames: accounts, PollInterval: time.Minute})
	if err != nil {
		return err
	}
	return engine.Run(ctx)
}
