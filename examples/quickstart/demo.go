package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/check"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
)

const (
	demoLasts  = 8 * time.Second         // the accounts post for about this long
	demoLateBy = 1500 * time.Millisecond // some posts show up this late
	demoSlack  = 8 * time.Second         // time for the first polls, and for the last poll and retry
	demoProbes = 10                      // calls a second
)

// demonstrate runs the whole path on this machine: platform, engine, receiver.
func demonstrate(ctx context.Context, o options, w io.Writer) (*summary, error) {
	names := enginetest.AccountNames(o.accounts)
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{
		Seed: 1, Accounts: names, PageSize: 40, LateShare: 0.1, LateUpTo: demoLateBy,
		Faults: enginetest.Faults{ServerError: 0.01, Truncated: 0.01},
	})
	key := deliver.GenerateSecret()
	receiver := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: key, Answer: enginetest.FailFirst(0.05, 1)})
	platformURL, stopPlatform, err := serve(platform.Handler())
	if err != nil {
		return nil, err
	}
	defer stopPlatform()
	receiverURL, stopReceiver, err := serve(receiver)
	if err != nil {
		return nil, err
	}
	defer stopReceiver()

	source, err := mastodon.New(mastodon.Config{BaseURL: platformURL})
	if err != nil {
		return nil, err
	}
	lines := &ticker{w: w}
	cfg := streamwatch.Config{
		Fetcher: source,
		OnEvent: func(_ context.Context, e deliver.Event) error {
			lines.detected(e)
			return nil
		},
		OnGap:       func(g detect.Gap) { lines.print("gap: %s could not be read\n", g) },
		Webhook:     webhook.Config{AllowPrivate: true}, // the receiver is on loopback
		MinInterval: o.interval,
		Quotas:      streamwatch.Quotas{MonitorAccounts: o.accounts},
	}
	if o.push {
		cfg.Roles.Stream = platform.Streamer(enginetest.StreamConfig{})
	}
	if o.probe {
		cfg.Roles.Probe = platform.Prober(enginetest.ProbeConfig{})
		cfg.Detect.ProbeRate = demoProbes
	}
	cfg.Detect.Backoff.Min = o.interval // the platform fails now and then
	cfg.Detect.Overlap = 5 * time.Second
	cfg.Detect.MaxPages = 1000 // -posts may be many for -accounts
	cfg.Deliver.RetrySchedule = []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		platform.PostAt(name, "from before the monitor: it must not be delivered", time.Now().Add(-time.Hour), time.Time{})
	}
	if err := engine.Start(ctx); err != nil {
		return nil, err
	}
	if o.ui {
		stopUI, err := serveConsole(engine, lines)
		if err != nil {
			return nil, errors.Join(err, engine.Shutdown(ctx))
		}
		defer stopUI()
	}
	created, err := engine.Monitors().Create(ctx, monitor.CreateRequest{
		Name: "quickstart", Usernames: names, PollInterval: o.interval, WebhookURL: receiverURL + "/hook", WebhookSecret: key,
	})
	if err != nil {
		return nil, errors.Join(err, engine.Shutdown(ctx))
	}
	fmt.Fprintf(w, "platform %s, receiver %s, %d accounts polled every %s\n\n", platformURL, receiverURL, o.accounts, o.interval)

	awaitRoles(ctx, engine, o)
	err = platform.Run(ctx, enginetest.PostRate{PerSecond: float64(o.posts) / o.lasts.Seconds(), Total: o.posts})
	if ctx.Err() != nil {
		err = nil // Ctrl-C: what was posted until then is owed
	}
	if err == nil {
		settle(platform, receiver, o)
		if o.ui {
			lines.print("\nno more posts; the console is there until Ctrl-C\n")
			<-ctx.Done()
		}
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(err, engine.Shutdown(stop))

	watches := []check.Watch{{MonitorID: created.ID, Accounts: names, Since: created.CreatedAt.Truncate(time.Millisecond)}} // as fine as posts are stamped
	report := check.Check(platform.Posted(), watches, receiver.Deliveries())
	got, stats := receiver.Stats(), engine.Stats()
	sum := &summary{
		Posted: report.Posted, Detected: lines.count(), Delivered: report.Delivered, Verified: report.Verified,
		Lost: report.Posted - report.Delivered, Duplicated: lines.count() - int(stats.Detect.Events) + count(report.Duplicated),
		Latency: lines.latencies(),
		notes: []string{fmt.Sprintf("%d polls, %d of them met a failing platform · %d webhook attempts failed and were retried · %d posts from before the monitor were left alone",
			stats.Detect.Polls, stats.Detect.PollErrors, stats.Deliver.Retried, stats.Detect.Baseline)},
	}
	sum.brought(stats.Detect, o.push, o.probe)
	if got.Unverified > 0 || got.BodyChanged > 0 || sum.Detected != sum.Posted || sum.Verified != sum.Posted || sum.Duplicated != 0 {
		err = errors.Join(err, errIncomplete)
	}
	return sum, errors.Join(err, report.Err())
}

// awaitRoles waits until the accounts were polled and probed and the stream is connected, at most
// demoSlack. Probes and streams do not show posts made before that.
func awaitRoles(ctx context.Context, e *streamwatch.Engine, o options) {
	end := time.After(demoSlack)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		s := e.Stats().Detect
		if s.Polls >= int64(o.accounts) && (!o.push || s.Stream.Connected) && (!o.probe || s.Probes.Calls > 0) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// settle waits until the last post is visible and the receiver has accepted all posts. It stops after
// a limit; the check then reports the missing posts.
func settle(p *enginetest.Platform, r *enginetest.Receiver, o options) {
	late := time.After(demoLateBy)
	end := time.After(o.interval + demoLateBy + demoSlack)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting || r.Stats().Accepted < len(p.Posted())-o.accounts; { // less the one of each from before
		select {
		case <-late:
			waiting = false
		case <-tick.C:
		case <-end:
			return
		}
	}
}

// serve listens on loopback until stop is called.
func serve(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with ErrServerClosed
	}()
	return "http://" + l.Addr().String(), func() {
		srv.Close()
		<-done
	}, nil
}

func count(p check.Posts) (n int) {
	for _, ids := range p {
		n += len(ids)
	}
	return n
}
