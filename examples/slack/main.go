// Slack is a service that sends posts to Slack. It adds a sender for URLs such as
// slack://hooks.slack.com/services/T…/B…/… to Config.Deliver.Senders. If a monitor has such a
// webhook_url, the dispatcher sends its posts to an incoming webhook of Slack, with the usual
// retries, lanes and delivery log.
//
//	go run ./examples/slack
//
// needs no setup and ends by itself. The platform and Slack are fakes; the fake Slack refuses the
// first message.
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
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

const (
	posts    = 3
	interval = 50 * time.Millisecond
)

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

func run(ctx context.Context, out io.Writer, url string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	send := newSender("https", &webhook.Guard{})
	if url == "" {
		fake, stop, err := startFake(out)
		if err != nil {
			return err
		}
		defer stop()
		url = fake
		send = newSender("http", &webhook.Guard{AllowPrivate: true})
	}
	defer send.close()

	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	cfg := streamwatch.Config{Fetcher: platform, MinInterval: interval}
	cfg.Deliver.Senders = map[string]deliver.Sender{"slack": send}
	cfg.Deliver.RetrySchedule = []time.Duration{200 * time.Millisecond, 2 * time.Second}
	given := make(chan deliver.Notice, posts)
	cfg.Deliver.Observer = func(n deliver.Notice) { given <- n }
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
	m, err := engine.Monitors().Create(ctx, monitor.CreateRequest{
		Owner: "acme", Name: "space", Usernames: []string{"nasa"}, PollInterval: interval, WebhookURL: url,
	})
	if err != nil {
		return err
	}
	if err := oneASecond(ctx, engine, m.ID); err != nil {
		return err
	}
	for n := 1; n <= posts; n++ {
		platform.Post("nasa", fmt.Sprintf("post %d: Earth & Moon <3", n))
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for engine.Stats().Deliver.Delivered < posts {
		select {
		case n := <-given:
			return fmt.Errorf("a delivery was given up: %s", n.Reason)
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s := engine.Stats().Deliver
	fmt.Fprintf(out, "%d posts in the channel, %d attempts\n", s.Delivered, s.Attempts)
	return nil
}

// oneASecond limits an endpoint to one attempt a second: Slack's limit for a webhook, apart from
// short bursts.
func oneASecond(ctx context.Context, e *streamwatch.Engine, monitorID string) error {
	list, err := e.Endpoints().List(ctx, "acme", monitorID)
	if err != nil {
		return err
	}
	for _, ep := range list {
		if _, err := e.Endpoints().Update(ctx, "acme", ep.ID, endpoints.Update{Limits: &deliver.Limits{Rate: 1, Burst: 3, InFlight: 1}}); err != nil {
			return err
		}
	}
	return nil
}
