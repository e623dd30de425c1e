package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// monitorAccounts is how many accounts a monitor has: the engine's default bound.
const monitorAccounts = 100

// startOurs embeds the engine as a program would: the defaults, but for a receiver on
// this machine and intervals below a second.
func startOurs(o contestantOrder) (stop func() error, err error) { return embed(o, nil, asIs) }

func asIs(cfg streamwatch.Config) streamwatch.Config { return cfg }

// startGathered has polls begin together.
func startGathered(o contestantOrder) (stop func() error, err error) {
	return embed(o, nil, func(cfg streamwatch.Config) streamwatch.Config {
		cfg.Detect.Gather = 10 * time.Millisecond
		return cfg
	})
}

// startOursHTTP1 asks the platform by HTTP/1.1, with a connection for each request
// under way.
func startOursHTTP1(o contestantOrder) (stop func() error, err error) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return embed(o, &http.Client{Timeout: 30 * time.Second,
		Transport: &http.Transport{Protocols: &protocols, MaxIdleConnsPerHost: inFlight, IdleConnTimeout: 90 * time.Second}}, asIs)
}

// startTraced has traces of every hundredth post, which go to the receiver by OTLP.
func startTraced(o contestantOrder) (stop func() error, err error) {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Traces))
	if err != nil {
		return nil, err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(engineotel.IDs()))
	var refused error
	end, err := embed(o, nil, func(cfg streamwatch.Config) streamwatch.Config {
		cfg, refused = engineotel.Instrument(cfg, engineotel.Options{TracerProvider: tp, Ratio: 0.01})
		return cfg
	})
	if err = errors.Join(refused, err); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(end(), tp.Shutdown(ctx)) }, nil
}

func embed(o contestantOrder, client *http.Client, change func(streamwatch.Config) streamwatch.Config) (stop func() error, err error) {
	ctx := context.Background()
	platform, err := mastodon.New(mastodon.Config{BaseURL: o.URL, PageSize: o.Page, HTTP: client})
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(o.Dir, "streamwatch.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	engine, err := streamwatch.New(change(streamwatch.Config{
		Fetcher: platform, Store: store, MinInterval: o.Interval, DefaultInterval: o.Interval,
		Webhook: webhook.Config{AllowPrivate: true},
	}))
	if err != nil {
		return nil, err
	}
	had, err := engine.Monitors().List(ctx, monitor.Query{})
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
