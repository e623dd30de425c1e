// Tenants is a service whose customers bring tokens of their own: a bearer token for its requests,
// and an access token of a Mastodon server, by which their accounts are read. Each has an engine, of
// about 250 KB: an engine reads an account once for all owners, so what one's token may see would
// go to the others who watch it.
//
//	cat >tenants.json <<EOF
//	[{"name": "acme", "key": "…", "server": "https://mastodon.social", "token": "…"},
//	 {"name": "globex", "key": "…", "server": "https://hachyderm.io", "token": "…"}]
//	EOF
//	go run ./examples/tenants -tenants tenants.json
//	curl -H 'Authorization: Bearer …' localhost:8080/v1/social/stream/monitors
//
// Everything is in memory. To keep it, give each engine a Store, such as a SQLite file.
package main

import (
	"context"
	"encoding/json"
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

	"github.com/streamwatch/streamwatch/enginehttp"
)

// stopTime is how long requests under way may take after a signal, and then deliveries.
const stopTime = 15 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	fs := flag.NewFlagSet("tenants", flag.ContinueOnError)
	fs.SetOutput(out)
	addr := fs.String("addr", "127.0.0.1:8080", "listen here")
	file := fs.String("tenants", "tenants.json", "the tenants, a JSON `file`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	data, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	var tenants []tenant
	if err := json.Unmarshal(data, &tenants); err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	log := slog.New(slog.NewTextHandler(out, nil))
	front := front{}
	for _, t := range tenants {
		if err := front.add(t, log.With("tenant", t.Name)); err != nil {
			return fmt.Errorf("%s: tenant %q: %w", *file, t.Name, err)
		}
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}

	defer listener.Close()
	defer func() { err = errors.Join(err, front.end()) }() // after the server
	for _, t := range front {
		if err := t.engine.Start(ctx); err != nil {
			return err
		}
	}
	server := enginehttp.NewServer(front)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	log.Info("serving", "address", "http://"+listener.Addr().String(), "tenants", len(front))
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	return server.Shutdown(stop)
}

// end stops all engines.
func (f front) end() (err error) {
	stop, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	for _, t := range f {
		err = errors.Join(err, t.engine.Shutdown(stop))
	}
	return err
}
