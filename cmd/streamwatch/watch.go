package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/monitor"
)

// watchConfig is what the command watch is asked for.
type watchConfig struct {
	accounts               []string // kind:account, as they were given
	since                  bool
	interval, feedInterval time.Duration
	appView                string // "" for the public one
	allowPrivate           bool
}

// watchStop is how long polls under way may take after Ctrl-C.
const watchStop = 15 * time.Second

const watchAbout = `Watch prints the posts of accounts as they are found, until Ctrl-C. Nothing is kept, and no key is needed.
Accounts are mastodon:USER@HOST, bluesky:HANDLE and feed:https://HOST/PATH:

    streamwatch watch -since mastodon:Gargron@mastodon.social bluesky:bsky.app`

// defineWatch is the command watch.
func defineWatch(f *command.Flags) command.Run {
	c := watchConfig{interval: 15 * time.Second, feedInterval: leastFeed}
	f.Add(&c.since, "since", "print the newest post of each account at once")
	f.Add(&c.interval, "interval", "time between two polls of an account, 5s to 1h; of feeds at least 5m")
	f.Add(&c.allowPrivate, "allow-private", "let feeds be http:// and in private networks")
	return func(ctx context.Context, p process) error {
		c.accounts = f.Args
		if err := c.check(); err != nil {
			return err
		}
		return watch(ctx, p, c)
	}
}

func (c *watchConfig) check() error {
	switch {
	case len(c.accounts) == 0:
		return command.Usagef("account is missing: want one or more such as mastodon:Gargron@mastodon.social, bluesky:bsky.app or feed:https://go.dev/blog/feed.atom")
	case c.interval < 5*time.Second || c.interval > time.Hour:
		return command.Usagef("-interval %s is not allowed: want 5s to 1h", c.interval)
	case c.allowPrivate && !slices.ContainsFunc(c.accounts, isFeed):
		return command.Usagef("-allow-private is not allowed: it needs an account feed:…")
	}
	return nil
}

func isFeed(account string) bool { return strings.HasPrefix(account, "feed:") }

// watch prints new posts until ctx ends or the output fails.
func watch(ctx context.Context, p process, c watchConfig) (err error) {
	all, err := openWatched(c)
	if err != nil {
		return command.Usage(err)
	}
	printing, end := context.WithCancelCause(ctx)
	defer end(nil)
	posts := &postLines{w: p.Out, failed: end}
	engine, err := streamwatch.New(streamwatch.Config{
		Sources: all.sources, Quotas: streamwatch.Quotas{MonitorAccounts: len(all.names)},
		Logger:  slog.New(slog.NewTextHandler(p.Logs, &slog.HandlerOptions{Level: slog.LevelWarn})),
		OnEvent: func(_ context.Context, e deliver.Event) error { return posts.found(e) },
	})
	if err != nil {
		return err
	}
	made, err := all.monitors(ctx, engine, c) // before anything is read: nothing falls between
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if err := all.tryAll(ctx, c.since, posts, p.Logs); err != nil || ctx.Err() != nil {
		return err
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchStop)
		defer cancel()
		err = errors.Join(err, neverRead(within, engine, all.names), engine.Shutdown(within))
	}()
	for _, m := range made {
		fmt.Fprintf(p.Logs, "watching %s every %s; Ctrl-C stops\n", strings.Join(m.Usernames, ", "), m.PollInterval)
	}
	<-printing.Done()
	if ctx.Err() == nil {
		return context.Cause(printing)
	}
	return nil
}

// monitors creates one monitor for the feeds and one for the other accounts. It creates no monitor
// without accounts.
func (a *watched) monitors(ctx context.Context, engine *streamwatch.Engine, c watchConfig) (made []monitor.CreateRequest, err error) {
	for _, m := range []monitor.CreateRequest{
		{Name: "accounts", PollInterval: c.interval, Usernames: slices.DeleteFunc(slices.Clone(a.names), isFeed)},
		{Name: "feeds", PollInterval: max(c.interval, c.feedInterval), Usernames: slices.DeleteFunc(slices.Clone(a.names), func(n string) bool { return !isFeed(n) })},
	} {
		if len(m.Usernames) == 0 {
			continue
		}
		if _, err := engine.Monitors().Create(ctx, m); err != nil {
			return nil, err
		}
		made = append(made, m)
	}
	return made, nil
}

// tryAll reads each account once. It returns an error if an account does not exist. It only prints
// temporary failures, since later polls try again.
func (a *watched) tryAll(ctx context.Context, since bool, posts *postLines, logs io.Writer) error {
	var refused error
	for _, name := range a.names {
		kind, account, _ := strings.Cut(name, ":")
		within, cancel := context.WithTimeout(ctx, 20*time.Second)
		page, err := a.source(kind).Fetcher.Timeline(within, fetcher.TimelineQuery{Username: account, Limit: 5})
		cancel()
		switch {
		case ctx.Err() != nil:
			return refused
		case errors.Is(err, fetcher.ErrNotFound), errors.Is(err, fetcher.ErrProtected), errors.Is(err, fetcher.ErrUnauthorized):
			refused = errors.Join(refused, fmt.Errorf("account %q cannot be watched: %w", name, err))
		case err != nil:
			fmt.Fprintf(logs, "%s cannot be read now: %v\n", name, err)
		case since && len(page.Tweets) == 0:
			fmt.Fprintf(logs, "%s has no posts\n", name)
		case since:
			newest := slices.MaxFunc(page.Tweets, func(x, y fetcher.Tweet) int { return x.PublishedAt.Compare(y.PublishedAt) })
			if err := posts.newest(name, newest); err != nil {
				return err
			}
		}
	}
	return refused
}

// neverRead returns an error that names the accounts whose polls have all failed, nil if there are
// none.
func neverRead(ctx context.Context, engine *streamwatch.Engine, names []string) error {
	var failed []string
	for _, name := range names {
		st, ok, err := engine.Account(ctx, name)
		if err == nil && ok && st.Failures > 0 && st.LastContact.IsZero() {
			failed = append(failed, fmt.Sprintf("%s (%v)", name, st.Err))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was watched of %s: every poll failed", strings.Join(failed, ", "))
}
