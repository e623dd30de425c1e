// Slack is a service that sends posts to Slack. It adds a sender for URLs such as
// slack://hooks.slack.com/services/T…/B…/… to Config.Deliver.Senders. If a monitor has such a
// webhook_url, the dispatcher sends its posts to an incoming webhook of Slack, with the usual
// retries, lanes and delivery log, and not faster than Slack allows.
//
//	go run ./examples/slack
//
// needs no setup and ends by itself. The platform and Slack are fakes. The fake Slack refuses the
// first message, and the service is restarted before the last one.
//
//	go run ./examples/slack -url slack://hooks.slack.com/services/T…/B…/…
//
// sends the posts of the fake platform to your channel.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const interval = 50 * time.Millisecond

func main() {
	url := flag.String("url", "", "slack:// and the rest of an incoming webhook's URL; a made-up Slack by default")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *url)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "slack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	scheme := "https"
	if url == "" {
		fake, stop, err := startFake(out)
		if err != nil {
			return err
		}
		defer stop()
		url, scheme = fake, "http"
	}
	hooks, err := webhook.New(webhook.Config{AllowPrivate: scheme == "http"})
	if err != nil {
		return err
	}
	defer hooks.Close()
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	cfg := streamwatch.Config{Fetcher: platform, MinInterval: interval, Store: memory.New(memory.Options{})}
	defer cfg.Store.Close(context.WithoutCancel(ctx))
	cfg.Deliver.Senders = map[string]deliver.Sender{"slack": sender{hooks, scheme}}
	// Slack takes a message a second, apart from short bursts: https://docs.slack.dev/apis/web-api/rate-limits.
	cfg.Deliver.SenderLimits = map[string]deliver.Limits{"slack": {Rate: 1, Burst: 3, InFlight: 1}}
	for _, posts := range [][]string{{"Earth & Moon <3", "Lift-off"}, {"Landed"}} { // of two starts
		err := serve(ctx, out, cfg, url, func() int {
			for _, text := range posts {
				platform.Post("nasa", text)
			}
			return len(posts)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// serve is the service, from its start until all that is posted has been delivered.
func serve(ctx context.Context, out io.Writer, cfg streamwatch.Config, url string, post func() int) (err error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	cfg.Deliver.Observer = func(n deliver.Notice) {
		if n.Kind == deliver.NoticeExhausted {
			giveUp(fmt.Errorf("a delivery was given up: %s", n.Reason))
		}
	}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return err
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, engine.Shutdown(stop))
	}()
	// The first start makes the monitor, the others find it. One that was changed here is updated.
	m, err := engine.Monitors().Ensure(ctx, monitor.CreateRequest{Name: "space", Usernames: []string{"nasa"}, PollInterval: interval, WebhookURL: url})
	if err != nil {
		return err
	}
	posted := int64(post())
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for engine.Stats().Deliver.Delivered < posted {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s := engine.Stats().Deliver
	fmt.Fprintf(out, "%d posts in the channel, %d attempts, version %d of the monitor\n", s.Delivered, s.Attempts, m.Version)
	return nil
}
