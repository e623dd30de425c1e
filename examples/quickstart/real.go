package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// accounts is a Fetcher for accounts on several servers: each name has its own.
type accounts struct {
	names []string
	at    map[string]account // by monitor.Key(name)
}

type account struct {
	source fetcher.Fetcher
	local  string // the name on its server
}

// Timeline implements fetcher.Fetcher.
func (a *accounts) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	acc, ok := a.at[monitor.Key(q.Username)]
	if !ok {
		return fetcher.Page{}, fetcher.ErrNotFound
	}
	q.Username = acc.local
	return acc.source.Timeline(ctx, q)
}

func (a *accounts) add(name, local string, source fetcher.Fetcher) {
	a.names = append(a.names, name)
	a.at[monitor.Key(name)] = account{source: source, local: local}
}

// open makes the accounts of the flags, one adapter per server.
func open(o options) (*accounts, error) {
	all := &accounts{at: map[string]account{}}
	servers := map[string]fetcher.Fetcher{}
	for _, raw := range o.mastodon {
		base, user, err := splitAccountURL(raw)
		if err != nil {
			return nil, err
		}
		if servers[base] == nil {
			f, err := mastodon.New(mastodon.Config{BaseURL: base, Token: secret.Value(o.token)})
			if err != nil {
				return nil, err
			}
			servers[base] = f
		}
		u, _ := url.Parse(base)
		all.add(user+"@"+u.Host, user, servers[base])
	}
	if len(o.bluesky) > 0 {
		f, err := bluesky.New(bluesky.Config{BaseURL: o.blueskyHost, PDS: o.pds})
		if err != nil {
			return nil, err
		}
		for _, handle := range o.bluesky {
			handle = strings.TrimPrefix(handle, "@")
			all.add(handle, handle, f)
		}
	}
	return all, nil
}

// splitAccountURL takes https://host/@user apart.
func splitAccountURL(raw string) (base, user string, err error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || !strings.HasPrefix(u.Path, "/@") || len(u.Path) < 3 || strings.Contains(u.Path[2:], "/") {
		return "", "", fmt.Errorf("-mastodon %q is not allowed: want https://host/@user", raw)
	}
	return u.Scheme + "://" + u.Host, u.Path[2:], nil
}

// watch watches real accounts until ctx ends.
func watch(ctx context.Context, o options, w io.Writer) (*summary, error) {
	all, err := open(o)
	if err != nil {
		return nil, err
	}
	lines := &ticker{w: w}
	gaps := make(chan detect.Gap, 64)
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: all,
		OnEvent: func(_ context.Context, e deliver.Event) error {
			lines.detected(e)
			return nil
		},
		OnGap: func(g detect.Gap) {
			select {
			case gaps <- g:
			default: // it is in the log as well; never hold the engine up
			}
		},
		Webhook:     deliver.WebhookConfig{AllowPrivate: o.allowPrivate},
		MaxAccounts: len(all.names),
	})
	if err != nil {
		return nil, err
	}
	created, err := engine.Monitors().Create(ctx, monitor.CreateRequest{
		Name: "quickstart", Usernames: all.names, PollInterval: o.interval, WebhookURL: o.webhook, WebhookSecret: o.key(),
	})
	if err != nil {
		return nil, err
	}
	if created.WebhookSecret != "" {
		fmt.Fprintf(w, "webhook secret, shown once: %s\n", string(created.WebhookSecret))
	}
	if o.since {
		printNewest(ctx, all, w)
	}
	if o.runFor > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.runFor)
		defer cancel()
	}
	fmt.Fprintf(w, "watching %s every %s; Ctrl-C stops\n", strings.Join(all.names, ", "), o.interval)
	if err := engine.Start(ctx); err != nil {
		return nil, err
	}
	reportUntil(ctx, engine, created.ID, gaps, w)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	err = engine.Shutdown(stop)
	return sumUp(engine, lines, o), err
}

// printNewest shows each account's newest post, so that there is something to
// see at once, and says which accounts can not be read.
func printNewest(ctx context.Context, all *accounts, w io.Writer) {
	for _, name := range all.names {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		page, err := all.Timeline(ctx, fetcher.TimelineQuery{Username: name, Limit: 5})
		cancel()
		if err != nil {
			fmt.Fprintf(w, "newest  @%-23s  can not be read: %v\n", name, err)
			continue
		}
		if len(page.Tweets) == 0 {
			fmt.Fprintf(w, "newest  @%-23s  has no posts\n", name)
			continue
		}
		t := page.Tweets[0]
		for _, other := range page.Tweets {
			if other.PublishedAt.After(t.PublishedAt) {
				t = other
			}
		}
		fmt.Fprintf(w, "newest  @%-23s  %s  %s  %s\n", name, oneLine(t.Text, 60), age(time.Since(t.PublishedAt)), t.Permalink)
	}
}

// reportUntil prints what goes wrong as it happens, until ctx ends.
func reportUntil(ctx context.Context, engine *streamwatch.Engine, id string, gaps <-chan detect.Gap, w io.Writer) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-gaps:
			fmt.Fprintf(w, "gap: %s could not be read\n", g)
		case <-tick.C:
			m, err := engine.Monitors().Get(ctx, "", id)
			if err == nil && m.StatusReason != last {
				if last = m.StatusReason; last != "" {
					fmt.Fprintln(w, last)
				}
			}
		}
	}
}

// sumUp counts what the engine and its log say. How much the platforms posted
// nobody knows but they; what was detected stands for it.
func sumUp(engine *streamwatch.Engine, lines *ticker, o options) *summary {
	stats := engine.Stats()
	s := &summary{Posted: lines.count(), Detected: lines.count(), Latency: lines.latencies()}
	s.notes = append(s.notes, fmt.Sprintf("%d polls, %d failed, %d gaps, %d posts dropped as malformed", stats.Detect.Polls, stats.Detect.PollErrors, stats.Detect.Gaps,
		stats.Detect.DroppedNoID+stats.Detect.DroppedNoTime+stats.Detect.DroppedFuture+stats.Detect.DroppedAuthor+stats.Detect.DroppedExcess))
	if o.webhook == "" {
		s.Delivered = s.Detected
		return s
	}
	s.Delivered = int(stats.Deliver.Delivered) - s.Detected // the rest went to the handler
	s.notes = append(s.notes, fmt.Sprintf("webhook: %d attempts failed and were or will be retried, %d deliveries given up", stats.Deliver.Retried, stats.Deliver.Failed))
	s.Lost = int(stats.Deliver.Failed)
	return s
}

var errIncomplete = errors.New("the run is not clean: see the summary")
