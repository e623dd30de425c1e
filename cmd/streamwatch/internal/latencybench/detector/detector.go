package detector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Modes of finding posts.
const (
	Polling = "polling" // each account every Interval
	Probes  = "probes"  // as Polling; and at once the accounts that probes, 10 a second of 40 accounts each, show as changed
	Push    = "push"    // as Polling; and what the stream of a user's home timeline brings
)

// Modes are all of them.
var Modes = []string{Polling, Probes, Push}

// probeRate is how many probes a second are made.
const probeRate = 10

// Config sets up a detector.
type Config struct {
	Platform string // URL
	Webhook  string // URL
	Accounts int    // account0001 and so on
	Mode     string
	Interval time.Duration
	// Store is "memory", the path of a SQLite file, or a redis:// URL.
	Store string
	// Node is its name in a fleet on the Store; "" for none.
	Node   string
	Secret secret.Value // that signs webhooks
	Key    secret.Value // of WebSocket clients
	Logger *slog.Logger
}

// minInterval is the shortest that a monitor may have here.
const minInterval = 50 * time.Millisecond

// Check reports what is not allowed.
func (c *Config) Check() error {
	switch {
	case c.Mode != Polling && c.Mode != Probes && c.Mode != Push:
		return fmt.Errorf("-mode %q is not allowed: want one of %s", c.Mode, strings.Join(Modes, ", "))
	case c.Interval < minInterval || c.Interval > time.Hour:
		return fmt.Errorf("-interval %s is not allowed: want %s to 1h", c.Interval, minInterval)
	case c.Accounts < 1 || c.Accounts > 10_000:
		return fmt.Errorf("-accounts %d is not allowed: want 1 to 10000", c.Accounts)
	case c.Node != "" && c.Store == "memory":
		return errors.New("-store memory is not allowed for a fleet: want a file or redis://")
	}
	if strings.HasPrefix(c.Store, "redis://") {
		if _, err := redis.ParseURL(c.Store); err != nil { // err has the password in it
			return errors.New("-store is not allowed: want redis://[user:password@]host:port[/database]")
		}
	}
	return nil
}

// Run detects until ctx ends. ready is called once posts are looked for, with the URL at
// which WebSocket clients are served.
func Run(ctx context.Context, cfg Config, ready func(websocket string)) (err error) {
	if err := cfg.Check(); err != nil {
		return err
	}
	engineConfig, err := cfg.engine()
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg.Store)
	if err != nil {
		return err
	}
	soft := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, store.Close(soft)) }()
	engineConfig.Store = store
	engine, err := streamwatch.New(engineConfig)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("detector: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/social/stream", engine.WebSocket())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	defer func() {
		server.Close()
		<-served
	}()
	if err := engine.Start(ctx); err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(soft, 10*time.Second)
		defer cancel()
		err = errors.Join(err, engine.Shutdown(stop))
	}()
	for start := 0; start < cfg.Accounts; start += perMonitor {
		_, err := engine.Monitors().Create(ctx, monitor.CreateRequest{
			Name: fmt.Sprintf("bench %d", start), Usernames: enginetest.AccountNames(cfg.Accounts)[start:min(start+perMonitor, cfg.Accounts)],
			PollInterval: cfg.Interval, WebhookURL: cfg.Webhook, WebhookSecret: cfg.Secret,
		})
		if err != nil && !errors.Is(err, monitor.ErrDuplicate) { // another node has made it
			return err
		}
	}
	ready("ws://" + listener.Addr().String() + "/v1/social/stream")
	<-ctx.Done()
	return nil
}

// perMonitor is how many accounts one monitor has.
const perMonitor = 100

// engine is the engine's configuration, without its store.
func (c *Config) engine() (streamwatch.Config, error) {
	source, err := mastodon.New(mastodon.Config{BaseURL: c.Platform})
	if err != nil {
		return streamwatch.Config{}, err
	}
	out := streamwatch.Config{
		Fetcher:     source,
		Webhook:     webhook.Config{AllowPrivate: true}, // the receiver is on loopback or a private network
		MinInterval: minInterval,
		WebSocket: &wshub.Options{Authenticate: func(_ context.Context, key secret.Value) (wshub.Identity, error) {
			if key != c.Key || key == "" {
				return wshub.Identity{}, wshub.ErrBadKey
			}
			return wshub.Identity{KeyID: "bench"}, nil
		}},
		Logger: c.Logger,
	}
	switch c.Mode {
	case Probes:
		out.Roles.Probe, out.Detect.ProbeRate = source, probeRate
	case Push:
		// The fake platform takes any token.
		out.Roles.Stream, err = mastodon.NewStream(mastodon.StreamConfig{BaseURL: c.Platform, Token: "bench"})
		if err != nil {
			return streamwatch.Config{}, err
		}
	}
	if c.Node != "" {
		out.Fleet = &streamwatch.FleetConfig{Name: c.Node}
	}
	return out, nil
}

func openStore(ctx context.Context, where string) (storage.Store, error) {
	switch {
	case where == "memory":
		return memory.New(memory.Options{}), nil
	case strings.HasPrefix(where, "redis://"):
		to, err := redis.ParseURL(where) // as Check has done
		if err != nil {
			return nil, err
		}
		return redisstore.Open(ctx, &redis.UniversalOptions{Addrs: []string{to.Addr}, DB: to.DB, Username: to.Username, Password: to.Password}, redisstore.Options{})
	}
	return sqlite.Open(ctx, where, sqlite.Options{})
}
