// Latency measures how late posts come, from publication to the receiver's 2xx, and takes it apart by
// cause. An engine counts this all the time: Stats has it, and so do metrics and the console.
//
//	go run ./examples/latency
//	go run ./examples/latency -interval 2s
//	go run ./examples/latency -push
//
// A fake platform posts for some seconds. To measure this or another detector from outside, use
// streamwatch bench latency: see docs/latency-benchmark.md.
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
)

type options struct {
	posts    int
	lasts    time.Duration // how long the platform posts
	interval time.Duration // between two polls
	push     bool
}

func main() {
	o := options{posts: 200, lasts: 5 * time.Second}
	flag.DurationVar(&o.interval, "interval", 500*time.Millisecond, "time between two polls of an account")
	flag.BoolVar(&o.push, "push", false, "the platform has a stream, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	accounts := enginetest.AccountNames(10)
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: accounts})
	secret := deliver.GenerateSecret()
	receiver := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: secret})
	cfg := streamwatch.Config{
		Fetcher: platform, MinInterval: 10 * time.Millisecond,
		Webhook: webhook.Config{Transport: receiver.RoundTripper()}, // in this process
	}
	if o.push {
		cfg.Roles.Stream = platform.Streamer(enginetest.StreamConfig{})
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
	_, err = engine.Monitors().Create(ctx, monitor.CreateRequest{
		Name: "latency", Usernames: accounts, PollInterval: o.interval, WebhookURL: "https://example.com/", WebhookSecret: secret,
	})
	if err != nil {
		return err
	}
	rate := enginetest.PostRate{PerSecond: float64(o.posts) / o.lasts.Seconds(), Total: o.posts}
	if err := platform.Run(ctx, rate); err != nil {
		return err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for engine.Stats().Deliver.Delivered < int64(o.posts) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	stats := engine.Stats()
	total := stats.Deliver.Total
	fmt.Fprintf(out, "%d posts, from publication to 2xx: p50 %s, p95 %s, p99 %s, max %s\n", total.Count(),
		short(total.Quantile(0.5)), short(total.Quantile(0.95)), short(total.Quantile(0.99)), short(total.Max()))
	for _, c := range stats.Causes() {
		fmt.Fprintf(out, "%-10s %5.1f %%  %s\n", c.Name, 100*c.Share, short(c.Mean))
	}
	return nil
}

// short rounds a duration to what is worth reading.
func short(d time.Duration) time.Duration {
	if d > time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}
