package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/engineprom"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// owner is whose key is made at the first start.
const owner = "operator"

// operator reports whether the console shows a key all owners and the engine.
func operator(p apikey.Principal) bool { return p.Owner == owner && p.Scope == apikey.ScopeAdmin }

// handler returns the server's handler.
func handler(engine *streamwatch.Engine, keys *apikey.Manager, probes *enginehttp.Probes, source fetcher.Fetcher, log *slog.Logger) (http.Handler, *engineui.Console, error) {
	api, err := enginehttp.New(engine, enginehttp.Options{Auth: keys, Keys: keys, Providers: enginehttp.Providers{Timeline: source}, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(engineprom.New(engine))
	console, err := engineui.New(engineui.Config{Engine: engine, Login: &engineui.KeyLogin{Auth: keys, Operator: operator}, Keys: keys, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", api)
	mux.Handle("/console/", console)
	mux.HandleFunc("GET /livez", probes.Live)
	mux.HandleFunc("GET /readyz", probes.Ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{})) // to everybody: see SECURITY.md
	return mux, console, nil
}

func openPlatform(platform string) (fetcher.Fetcher, error) {
	if platform == "bluesky" {
		return bluesky.New(bluesky.Config{})
	}
	return mastodon.New(mastodon.Config{BaseURL: platform})
}

func openStore(ctx context.Context, file, postgresURL, redisURL string) (storage.Store, error) {
	switch {
	case postgresURL != "":
		return postgres.Open(ctx, postgresURL, postgres.Options{})
	case redisURL == "":
		return sqlite.Open(ctx, file, sqlite.Options{})
	}
	o, err := redis.ParseURL(redisURL)
	if err != nil {
		return nil, err
	}
	return redisstore.Open(ctx, &redis.UniversalOptions{Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig},
		redisstore.Options{})
}

// firstKey issues a key if the owner has none, and prints it. It is not shown again.
func firstKey(ctx context.Context, keys *apikey.Manager, out io.Writer) error {
	if all, err := keys.List(ctx, owner); err != nil || len(all) > 0 {
		return err
	}
	key, err := keys.Issue(ctx, apikey.IssueRequest{Owner: owner, Name: "first", Scope: apikey.ScopeAdmin})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "a key, shown only now: %s\n", string(key.Secret))
	return err
}

// within gives a function so long to end.
func within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}
