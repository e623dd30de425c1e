// Server is a service to copy and extend. It has the engine, the HTTP surface with API keys and
// WebSocket, the console, metrics, and a shutdown that loses nothing.
//
//	go run ./examples/server -platform https://mastodon.social
//
// prints a key at its first start, and the address of the console. Two servers on one store are a
// fleet and share the work:
//
//	go run ./examples/server -platform bluesky -postgres postgres://127.0.0.1/streams -fleet
//	go run ./examples/server -platform bluesky -postgres postgres://127.0.0.1/streams -fleet -addr 127.0.0.1:8081
//
// The command cmd/streamwatch also has credits, several platforms, TLS and more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
)

// drain is how long the server still accepts requests after a signal to stop, while /readyz answers
// 503. After that, requests under way may take stopTime, and then deliveries may take stopTime.
var (
	drain    = 2 * time.Second
	stopTime = 15 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.SetOutput(out)
	addr := fs.String("addr", "127.0.0.1:8080", "listen here")
	platform := fs.String("platform", "bluesky", "what to watch: bluesky, or the `URL` of a Mastodon server")
	db := fs.String("db", "streamwatch.db", "SQLite `file`")
	pg := fs.String("postgres", "", "keep everything in PostgreSQL instead, a `URL` such as postgres://127.0.0.1/streams")
	redis := fs.String("redis", "", "keep everything in Redis instead, a `URL` such as redis://127.0.0.1:6379")
	inFleet := fs.Bool("fleet", false, "share the work with the other servers on the same store")
	if err := fs.Parse(args); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(out, nil))
	source, err := openPlatform(*platform)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, *db, *pg, *redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
	if err != nil {
		return err
	}
	cfg := streamwatch.Config{
		Fetcher: source, Store: store, Logger: log,
		WebSocket: &wshub.Options{Authenticate: enginehttp.WebSocketAuth(keys)},
	}
	if *inFleet {
		cfg.Fleet = &streamwatch.FleetConfig{}
	}
	engine, err := streamwatch.New(cfg)
	if err != nil {
		return err
	}
	probes := enginehttp.NewProbes(engine, log)
	mux, console, err := handler(engine, keys, probes, source, log)
	if err != nil {
		return err
	}
	defer console.Close()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := firstKey(ctx, keys, out); err != nil {
		return err
	}

	// Start the engine before the server, and stop them in the opposite order.
	if err := engine.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, within(stopTime, engine.Shutdown)) }()
	server := enginehttp.NewServer(mux)
	server.RegisterOnShutdown(console.Close)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	log.Info("serving", "address", "http://"+listener.Addr().String(), "console", "http://"+listener.Addr().String()+"/console/")
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	probes.Drain()
	select { // load balancers notice that the server is not ready, and send no more clients
	case err := <-failed:
		return err
	case <-time.After(drain):
	}
	return within(stopTime, server.Shutdown)
}
