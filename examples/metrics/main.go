// Metrics serves what an engine counts to Prometheus, with the probes of an orchestrator.
//
//	go run ./examples/metrics
//	curl http://127.0.0.1:9090/metrics
//	curl http://127.0.0.1:9090/readyz
//
// A fake platform posts. engineprom/alerts.yaml has alerts on these metrics, engineprom/dashboard.json
// a dashboard for Grafana. Traces are in package engineotel: see its example.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/engineprom"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9090", "listen here")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err == nil {
		err = run(ctx, listener)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, listener net.Listener) error {
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher: platform,
		OnEvent: func(context.Context, deliver.Event) error { return nil },
	})
	if err != nil {
		return err
	}
	if _, err := engine.Monitors().Create(ctx, monitor.CreateRequest{Name: "space", Usernames: []string{"nasa"}, PollInterval: time.Second}); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(engineprom.New(engine))
	probes := enginehttp.NewProbes(engine, nil)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", probes.Live)
	mux.HandleFunc("GET /readyz", probes.Ready)
	server := enginehttp.NewServer(mux)

	ended := make(chan error, 2)
	go func() { ended <- server.Serve(listener) }()
	go func() { ended <- platform.Run(ctx, enginetest.PostRate{PerSecond: 2}) }()
	err = engine.Run(ctx)
	server.Close()
	for range 2 {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}
	return err
}
