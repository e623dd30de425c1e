// Websocket is a service and its client in one program. An engine polls a fake platform and serves
// its stream at /v1/social/stream. A client prints the posts. Its connection is cut in the middle, and
// it resumes without missing a post.
//
//	go run ./examples/websocket
//
// needs no setup and ends by itself.
//
//	go run ./examples/websocket -url http://127.0.0.1:8080/v1/social/stream -key sw_live_…
//
// runs only the client. It prints the posts of a service, such as streamwatch serve, until Ctrl-C, and
// resumes when the connection is lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

const (
	owner    = "acme"
	apiKey   = "key-of-acme" // a real service looks keys up, and stores their hashes
	posts    = 12
	interval = 50 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	url := flag.String("url", "", "be the client of this stream, an `address`")
	key := flag.String("key", "", "with -url, the API key")
	flag.Parse()
	var err error
	if *url != "" {
		c := client{url: *url, key: *key, out: os.Stdout}
		err = c.watch(ctx)
	} else {
		err = run(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "websocket:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	engine, err := streamwatch.New(streamwatch.Config{
		Fetcher:     platform,
		WebSocket:   &wshub.Options{Authenticate: authenticate},
		MinInterval: interval,
	})
	if err != nil {
		return err
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	defer func() { // closes the connections, too
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, engine.Shutdown(stop))
	}()
	mux := http.NewServeMux()
	mux.Handle("GET /v1/social/stream", engine.WebSocket())
	url, stopServer, err := serve(mux)
	if err != nil {
		return err
	}
	defer stopServer()
	if _, err := engine.Monitors().Create(ctx, monitor.CreateRequest{
		Owner: owner, Name: "space", Usernames: []string{"nasa"}, PollInterval: interval,
	}); err != nil {
		return err
	}

	c := client{url: "ws://" + url + "/v1/social/stream", key: apiKey, out: out}
	if err := c.connect(ctx); err != nil {
		return err
	}
	post(platform, 1, posts/3)
	if err := c.print(ctx, posts/3); err != nil {
		return err
	}
	fmt.Fprintln(out, "the connection is cut")
	c.cut()
	post(platform, posts/3+1, 2*posts/3)
	if err := committed(ctx, engine, 2*posts/3); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	post(platform, 2*posts/3+1, posts)
	if err := c.print(ctx, posts); err != nil {
		return err
	}
	c.cut()
	fmt.Fprintf(out, "%d of %d posts, each once\n", c.got, posts)
	return nil
}

// authenticate is where a service looks a key up.
func authenticate(_ context.Context, key secret.Value) (wshub.Identity, error) {
	if key != apiKey {
		return wshub.Identity{}, wshub.ErrBadKey
	}
	return wshub.Identity{Owner: owner, KeyID: "1"}, nil
}

func post(p *enginetest.Platform, from, to int) {
	for n := from; n <= to; n++ {
		p.Post("nasa", fmt.Sprintf("post %d", n))
	}
}

// committed waits until the engine has found so many posts.
func committed(ctx context.Context, e *streamwatch.Engine, events int) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for e.Stats().Detect.Events < int64(events) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// serve listens on loopback until stop is called.
func serve(h http.Handler) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	return l.Addr().String(), func() {
		server.Close()
		<-done
	}, nil
}
