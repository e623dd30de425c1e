// Receiver is a small webhook receiver. It verifies every request, prints each new post as a line,
// and ignores a delivery that comes again.
//
//	WEBHOOK_SECRETS=whsec_… go run ./examples/receiver -addr 127.0.0.1:8080
//
// serves POST /webhook until Ctrl-C. During a rotation, give the old and the new secret, separated by
// a comma. Use a proxy for TLS.
//
//	go run ./examples/receiver -demo
//
// needs no setup. The receiver gets a post, the same post again, and a forged one.
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
	"strings"
	"syscall"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/receive"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv("WEBHOOK_SECRETS"), os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "receiver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, secrets string, out io.Writer) error {
	flags := flag.NewFlagSet("receiver", flag.ContinueOnError)
	flags.SetOutput(out)
	addr := flags.String("addr", "127.0.0.1:8080", "listen here")
	asDemo := flags.Bool("demo", false, "send some requests to itself and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q is not allowed: want flags only", flags.Arg(0))
	}
	if *asDemo {
		return demo(ctx, out)
	}
	var known []deliver.Secret
	for s := range strings.SplitSeq(secrets, ",") {
		if s = strings.TrimSpace(s); s != "" {
			known = append(known, deliver.Secret(s))
		}
	}
	if len(known) == 0 {
		return errors.New("WEBHOOK_SECRETS is empty: want the secret shown when the webhook was made, or use -demo")
	}
	handler, err := newHandler(known, out)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s/webhook\n", listener.Addr())
	return serve(ctx, listener, handler)
}

// newHandler returns a handler that serves /webhook and prints posts. It sets RequireTimestamp, since
// streamwatch always sends a timestamp.
func newHandler(secrets []deliver.Secret, out io.Writer) (http.Handler, error) {
	v, err := receive.NewVerifier(receive.Config{Secrets: secrets, RequireTimestamp: true})
	if err != nil {
		return nil, err
	}
	inbox := newInbox(out, 100_000)
	mux := http.NewServeMux()
	mux.Handle("/webhook", v.Handler(inbox.take))
	return mux, nil
}

// serve serves until ctx ends, and then waits for the requests under way. The timeouts limit slow and
// hostile clients.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := server.Shutdown(stop)
	<-ended
	return err
}
