// Server is the whole service in one program: monitors, filter rules, webhooks,
// WebSocket, credits and keys behind HTTP, as package enginehttp describes it.
//
//	go run ./examples/server -demo
//
// needs no setup: a fake platform posts, everything is kept in a file that is
// removed at the end, and a key with credits is printed, so that every endpoint
// can be tried with curl at once.
//
//	go run ./examples/server -platform https://mastodon.social -db streams.db
//	go run ./examples/server -platform bluesky -redis redis://127.0.0.1:6379
//	go run ./examples/server -platform bluesky -pds https://pds.example.com
//
// watch real accounts, and several platforms at once as
//
//	export MASTODON_TOKEN=… OTHER_KEY=…
//	go run ./examples/server -source bsky=bluesky,probe,stream,calls=5 \
//		-source masto=mastodon,https://mastodon.social,token=MASTODON_TOKEN,stream \
//		-source other=remote,https://streams.example.com,token=OTHER_KEY,stream
//
// where accounts are named bsky:alice.example.com, masto:Gargron and so on; a bare
// name is one of the first source. Keys and credits are issued beside it, on the same store:
//
//	go run ./examples/server key -db streams.db -owner acme -name production -credits 100000
//	go run ./examples/server key -db streams.db -owner acme -name operations -scope admin
//	go run ./examples/server credits -db streams.db -owner acme -credits 5000
//	go run ./examples/server keys -db streams.db -owner acme
//	go run ./examples/server revoke -db streams.db -owner acme -id key_…
//
// With -fleet, servers that were started on the same -redis, or -db, share the work; the
// folder deploy has them for Compose and Kubernetes:
//
//	go run ./examples/server -platform bluesky -redis redis://127.0.0.1:6379 -fleet
//	go run ./examples/server -platform bluesky -redis redis://127.0.0.1:6379 -fleet -addr 127.0.0.1:8081
//
// With a key of the scope admin, the first of which is made like this, an owner
// lists, makes and revokes his keys at /v1/account/keys himself.
//
// Every flag can also come from the environment: STREAMWATCH_ADDR for -addr and
// so on; the command line goes first. Secrets come from there alone:
// STREAMWATCH_SEAL_KEY (openssl rand -base64 32) encrypts webhook secrets at rest,
// STREAMWATCH_CURSOR_KEY lets processes that are no fleet understand each other's cursors,
// STREAMWATCH_TOKEN is the access token of -platform; a -source names the variable of
// its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// run is the program: out gets what was asked for, logs the rest.
func run(ctx context.Context, args []string, env func(string) (string, bool), out, logs io.Writer) error {
	command := "serve"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		command, args = args[0], args[1:]
	}
	cfg, err := parse(command, args, env, out)
	if err != nil {
		return err
	}
	if command == "serve" {
		return serve(ctx, cfg, out, logs)
	}
	return admin(ctx, cfg, out)
}
