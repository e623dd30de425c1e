package latencybench

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
	modePolling = "polling" // each account every Interval
	modeProbes  = "probes"  // as modePolling; and at once the accounts that probes, 10 a second of 40 accounts each, show as changed
	modePush    = "push"    // as modePolling; and the stream of a user's home timeline
)

// modes are all of them.
var modes = []string{modePolling, modeProbes, modePush}

// probeRate is how many probes a second are made.
const probeRate = 10

// detectorConfig sets up a detector. It goes to a process of its own as JSON.
type detectorConfig struct {
	Platform string // URL
	Webhook  string // URL
	Accounts int    // account0001 and so on
	Mode     string
	Interval time.Duration
	Store    string // "memory", the path of a SQLite file, or a redis:// URL
	Node     string // its name in a fleet on the Store; "" for none
	Secret   string // that signs webhooks
	Key      string // of WebSocket clients
}

// minInterval is the shortest that a monitor may have here.
const minInterval = 50 * time.Millisecond

// detect detects until ctx ends. ready is called once posts are looked for, with the URL at
// which WebSocket clients are served.
func detect(ctx context.Context, cfg detectorConfig, log *slog.Logger, ready func(websocket string)) (err error) {
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
	engineConfig.Store, engineConfig.Logger = store, log
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
			PollInterval: cfg.Interval, WebhookURL: cfg.Webhook, WebhookSecret: secret.Value(cfg.Secret),
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
func (c *detectorConfig) engine() (streamwatch.Config, error) {
	source, err := mastodon.New(mastodon.Config{BaseURL: c.Platform})
	if err != nil {
		return streamwatch.Config{}, err
	}
	out := streamwatch.Config{
		Fetcher:     source,
		Webhook:     webhook.Config{AllowPrivate: true}, // the receiver is on loopback or a private network
		MinInterval: minInterval,
		WebSocket: &wshub.Options{Authenticate: func(_ context.Context, key secret.Value) (wshub.Identity, error) {
			if string(key) != c.Key {
				return wshub.Identity{}, wshub.ErrBadKey
			}
			return wshub.Identity{KeyID: "bench"}, nil
		}},
	}
	switch c.Mode {
	case modeProbes:
		out.Roles.Probe, out.Detect.ProbeRate = source, probeRate
	case modePush:
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
		to, err := redis.ParseURL(where) // as the options are checked
		if err != nil {
			return nil, err
		}
		return redisstore.Open(ctx, &redis.UniversalOptions{Addrs: []string{to.Addr}, DB: to.DB, Username: to.Username, Password: to.Password}, redisstore.Options{})
	}
	return sqlite.Open(ctx, where, sqlite.Options{})
}
