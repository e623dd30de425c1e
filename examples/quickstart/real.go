package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// accounts is a Fetcher for accounts on several servers: each name has its own.
type accounts struct {
	names []string
	at    map[string]account // by monitor.Key(name)

	stream fetcher.Streamer // of those that have a DID; nil for none

	sources []streamwatch.Source // of names that begin with one of theirs
	feeds   int                  // how many of names are feeds, the last ones

	billed fetcher.Billed // by X, for what -since has read: the engine knows nothing of it
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
	if _, twice := a.at[monitor.Key(name)]; twice {
		return
	}
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
				return nil, fmt.Errorf("-mastodon %q is not allowed: %w", raw, err)
			}
			servers[base] = f
		}
		u, _ := url.Parse(base)
		all.add(user+"@"+u.Host, user, servers[base])
	}
	if len(o.bluesky) > 0 {
		f, err := bluesky.New(bluesky.Config{BaseURL: o.blueskyHost, PDS: o.pds})
		if err != nil {
			return nil, fmt.Errorf("-bluesky-host %q or -pds %q is not allowed: %w", o.blueskyHost, o.pds, err)
		}
		for _, raw := range o.bluesky {
			handle, err := blueskyName(raw)
			if err != nil {
				return nil, err
			}
			all.add(handle, handle, f)
		}
	}
	if o.stream != "" {
		j, err := bluesky.NewJetstream(bluesky.JetstreamConfig{URL: o.stream})
		if err != nil {
			return nil, fmt.Errorf("-stream %q is not allowed: %w", o.stream, err)
		}
		all.stream = j
	}
	if err := all.openX(o); err != nil {
		return nil, err
	}
	return all, all.openFeeds(o)
}

func (a *accounts) openX(o options) error {
	if len(o.x.accounts) == 0 {
		return nil
	}
	if o.x.token == "" {
		return fmt.Errorf("-x %s is not allowed: the environment variable %s is not set", o.x.accounts.String(), xTokenVariable)
	}
	x, err := xapi.New(xapi.Config{BaseURL: o.x.host, Token: o.x.token})
	if err != nil {
		return fmt.Errorf("-x-host %q or %s is not allowed: %w", o.x.host, xTokenVariable, err)
	}
	for _, raw := range o.x.accounts {
		handle := strings.TrimPrefix(strings.TrimPrefix(raw, "https://x.com/"), "@")
		if err := xapi.CheckAccount(handle); err != nil {
			return fmt.Errorf("-x %q is not allowed: want %w", raw, err)
		}
		a.add("x:"+handle, handle, x)
	}
	a.sources = append(a.sources, streamwatch.Source{Name: "x", Fetcher: x, CheckAccount: xapi.CheckAccount,
		Detect: detect.Config{Cost: detect.Cost{Prices: xapi.Prices(), Limit: o.x.limit}}})
	return nil
}

func (a *accounts) openFeeds(o options) error {
	if len(o.feed.urls) == 0 {
		return nil
	}
	f, err := feed.New(feed.Config{AllowPrivate: o.allowPrivate})
	if err != nil {
		return fmt.Errorf("-feed: %w", err)
	}
	check := feed.CheckAccount
	if o.allowPrivate {
		check = feed.CheckPrivateAccount
	}
	had := len(a.names)
	for _, address := range o.feed.urls {
		if err := check(address); err != nil {
			return fmt.Errorf("-feed %q is not allowed: want %w", address, err)
		}
		a.add("feed:"+address, address, f)
	}
	a.feeds = len(a.names) - had
	a.sources = append(a.sources, streamwatch.Source{Name: "feed", Fetcher: f, CheckAccount: check})
	return nil
}

// config is an engine's for the accounts.
func (a *accounts) config() (cfg streamwatch.Config) {
	cfg.Sources, cfg.Quotas.MonitorAccounts = a.sources, len(a.names)
	for _, s := range a.at {
		if !slices.ContainsFunc(a.sources, func(named streamwatch.Source) bool { return named.Fetcher == s.source }) {
			cfg.Fetcher, cfg.Roles = a, fetcher.Roles{Stream: a.stream}
		}
	}
	return cfg
}

// splitAccountURL takes https://host/@user or user@host apart.
func splitAccountURL(raw string) (base, user string, err error) {
	page := strings.TrimSuffix(raw, "/")
	if name, host, ok := strings.Cut(strings.TrimPrefix(raw, "@"), "@"); ok && !strings.ContainsAny(raw, "/:") {
		page = "https://" + host + "/@" + name
	}
	u, err := url.Parse(page)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || !strings.HasPrefix(u.Path, "/@") || len(u.Path) < 3 || strings.Contains(u.Path[2:], "/") {
		return "", "", fmt.Errorf("-mastodon %q is not allowed: want https://host/@user or user@host", raw)
	}
	return u.Scheme + "://" + u.Host, u.Path[2:], nil
}

// blueskyName is the handle or DID of an account, or of the address of its page.
func blueskyName(raw string) (string, error) {
	name := raw
	if u, err := url.Parse(raw); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		var ok bool
		name, ok = strings.CutPrefix(strings.TrimSuffix(u.Path, "/"), "/profile/")
		if !ok || u.User != nil {
			name = ""
		}
	}
	if name = strings.TrimPrefix(name, "@"); name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("-bluesky %q is not allowed: want a handle, a DID or https://bsky.app/profile/handle", raw)
	}
	return name, nil
}

// watch watches real accounts until ctx ends.
func watch(ctx context.Context, o options, w io.Writer) (*summary, error) {
	all, err := open(o)
	if err != nil {
		return nil, usage(err)
	}
	lines := &ticker{w: w}
	cfg := all.config()
	cfg.OnEvent = func(_ context.Context, e deliver.Event) error {
		lines.detected(e)
		return nil
	}
	cfg.Logger = slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelInfo}))
	cfg.Webhook = webhook.Config{AllowPrivate: o.allowPrivate}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return nil, usage(err)
	}
	// The monitors come before anything is read, so that no post falls between.
	feeds := len(all.names) - all.feeds
	err = errors.Join(all.begin(ctx, engine, lines, "quickstart", all.names[:feeds], o.interval, o),
		all.begin(ctx, engine, lines, "quickstart feeds", all.names[feeds:], o.feed.interval, o))
	if err != nil && ctx.Err() == nil {
		return nil, usage(flagged(err, o))
	}
	if o.since {
		printNewest(ctx, all, lines)
	}
	if ctx.Err() != nil {
		return &summary{real: true}, nil
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
	all.tell(lines, o)
	if plan, err := engine.Plan(ctx); err == nil && plan.CostPerDay > 0 {
		lines.print("x: about $%.3f a day, if each account posts once a day; at most $%.2f\n", plan.CostPerDay, o.x.limit)
	}
	if o.runFor > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.runFor)
		defer cancel()
	}
	reportUntil(ctx, engine, lines)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	unread := neverRead(stop, engine, all)
	err = errors.Join(unread, engine.Shutdown(stop))
	sum := sumUp(engine, lines, all, o)
	if sum.Lost > 0 {
		err = errors.Join(err, errIncomplete)
	}
	return sum, err
}

// begin creates a monitor of some accounts, if there are any.
func (a *accounts) begin(ctx context.Context, engine *streamwatch.Engine, lines *ticker, name string, names []string, interval time.Duration, o options) error {
	if len(names) == 0 {
		return nil
	}
	created, err := engine.Monitors().Create(ctx, monitor.CreateRequest{
		Name: name, Usernames: names, PollInterval: interval, WebhookURL: o.webhook, WebhookSecret: o.key(),
	})
	if err != nil {
		return err
	}
	if created.WebhookSecret != "" {
		lines.print("webhook secret of %q, shown once: %s\n", name, string(created.WebhookSecret))
	}
	return nil
}

// tell says what is watched.
func (a *accounts) tell(lines *ticker, o options) {
	feeds := len(a.names) - a.feeds
	for _, of := range []struct {
		names []string
		every time.Duration
	}{{a.names[:feeds], o.interval}, {a.names[feeds:], o.feed.interval}} {
		if len(of.names) > 0 {
			lines.print("watching %s every %s; Ctrl-C stops\n", strings.Join(of.names, ", "), of.every)
		}
	}
}

// neverRead says which accounts every poll failed for, nil when there are none.
func neverRead(ctx context.Context, engine *streamwatch.Engine, all *accounts) error {
	var failed []string
	for _, name := range all.names {
		st, ok, err := engine.Account(ctx, name)
		if err == nil && ok && st.Failures > 0 && st.LastContact.IsZero() {
			failed = append(failed, fmt.Sprintf("%s (%v)", shownAs(name), st.Err))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was watched of %s: every poll failed", strings.Join(failed, ", "))
}

// flagged names the flag that a refused value came from.
func flagged(err error, o options) error {
	var fe *deliver.FieldError
	if !errors.As(err, &fe) {
		return err
	}
	switch {
	case fe.Field == "webhook_secret":
		return fmt.Errorf("-secret is not allowed: want %s", fe.Allowed)
	case fe.Field == "usernames":
		return fmt.Errorf("account %q is not allowed: want %s", fe.Value, fe.Allowed)
	case !o.allowPrivate:
		return fmt.Errorf("-webhook %q is not allowed: want %s (-allow-private admits http and private addresses)", fe.Value, fe.Allowed)
	}
	return fmt.Errorf("-webhook %q is not allowed: want %s", fe.Value, fe.Allowed)
}

// reportUntil prints what goes wrong with the webhook as it happens, until ctx
// ends.
func reportUntil(ctx context.Context, engine *streamwatch.Engine, lines *ticker) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		page, err := engine.Log().Deliveries(ctx, deliver.LogQuery{PageSize: 50})
		if err != nil {
			continue
		}
		newest := last
		for _, d := range page.Entries {
			if len(d.Log) == 0 {
				continue
			}
			a := d.Log[len(d.Log)-1]
			if a.Error == "" || !a.At.After(last) {
				continue
			}
			lines.print("webhook: attempt %d for post %s failed: %s\n", a.N, d.Event.TweetID, a.Error)
			if a.At.After(newest) {
				newest = a.At
			}
		}
		last = newest
	}
}

// sumUp counts what the engine says. How much the platforms posted nobody knows
// but they; what was detected stands for it.
func sumUp(engine *streamwatch.Engine, lines *ticker, all *accounts, o options) *summary {
	stats := engine.Stats()
	s := &summary{real: true, Posted: lines.count(), Detected: lines.count(), Delivered: lines.count(), Latency: lines.latencies()}
	sources := stats.Sources
	if sources == nil {
		sources = map[string]detect.Stats{"": stats.Detect}
	}
	var polls, failed, gaps, dropped int64
	for _, of := range sources {
		polls, failed, gaps = polls+of.Polls, failed+of.PollErrors, gaps+of.Gaps
		d := of.Dropped
		dropped += d.NoID + d.NoTime + d.Future + d.Author + d.Excess + d.SameID
	}
	s.notes = append(s.notes, fmt.Sprintf("%d polls, %d failed, %d gaps, %d posts dropped as malformed", polls, failed, gaps, dropped))
	if b := sources["x"].Cost.Billed.Plus(all.billed); b != (fetcher.Billed{}) {
		s.notes = append(s.notes, fmt.Sprintf("x: %d posts and %d accounts billed, $%.3f", b.Posts, b.Users, xapi.Prices().Cost(b)))
	}
	s.brought(sources[""], all.stream != nil, false)
	if o.webhook != "" {
		s.Delivered = int(stats.Deliver.Delivered) - s.Detected // the rest went to the handler
		s.Lost = s.Detected - s.Delivered                       // nothing is kept beyond this process
		s.notes = append(s.notes, fmt.Sprintf("webhook: %d attempts failed, %d deliveries given up", stats.Deliver.Retried+stats.Deliver.Failed, stats.Deliver.Failed))
	}
	return s
}
