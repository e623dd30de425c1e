package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// monitorAccounts is how many accounts a monitor has: the engine's default bound.
const monitorAccounts = 100

// startOurs embeds the engine as a program would: the defaults, but for a receiver on
// this machine and intervals below a second.
func startOurs(o contestantOrder) (stop func() error, err error) { return embed(o, 0) }

// startGathered has polls begin together.
func startGathered(o contestantOrder) (stop func() error, err error) {
	return embed(o, 10*time.Millisecond)
}

func embed(o contestantOrder, gather time.Duration) (stop func() error, err error) {
	ctx := context.Background()
	platform, err := mastodon.New(mastodon.Config{BaseURL: o.URL, PageSize: pagePosts})
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(o.Dir, "streamwatch.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: platform, Store: store, MinInterval: o.Interval, DefaultInterval: o.Interval,
		Detect: detect.Config{Gather: gather}, Webhook: webhook.Config{AllowPrivate: true},
	})
	if err != nil {
		return nil, err
	}
	had, err := engine.Monitors().Page(ctx, monitor.Query{})
	if err != nil {
		return nil, err
	}
	for from := 0; from < o.Accounts && len(had.Monitors) == 0; from += monitorAccounts {
		var accounts []string
		for i := from; i < min(from+monitorAccounts, o.Accounts); i++ {
			accounts = append(accounts, username(i))
		}
		if _, err := engine.Monitors().Create(ctx, monitor.CreateRequest{Name: accounts[0], Usernames: accounts,
			WebhookURL: o.Hook, WebhookSecret: secret.Value(o.Secret)}); err != nil {
			return nil, err
		}
	}
	if err := engine.Start(ctx); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return errors.Join(engine.Shutdown(ctx), store.Close(ctx))
	}, nil
}
