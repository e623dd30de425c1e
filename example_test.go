package streamwatch_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// The shortest use: watch accounts and handle their new posts in-process.
func Example() {
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
	seen := make(chan deliver.Event)
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: platform, // or fetcher/mastodon, fetcher/bluesky, your own
		OnEvent: func(_ context.Context, e deliver.Event) error {
			seen <- e
			return nil // an error brings the event again
		},
		MinInterval: 10 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- engine.Run(ctx) }()

	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{
		Name: "space", Usernames: []string{"@nasa", "esa"}, PollInterval: 20 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	platform.Post("nasa", "Lift-off")
	e := <-seen
	fmt.Printf("@%s: %s, found within a minute: %v\n", e.AuthorUsername, e.TextPreview, e.Latency < time.Minute)

	post, err := deliver.ParseBody(e.Body) // the whole post
	fmt.Println(post.MonitorName, post.Tweet.Text, err)

	cancel()
	fmt.Println(<-done)
	// Output:
	// @nasa: Lift-off, found within a minute: true
	// space Lift-off <nil>
	// <nil>
}
