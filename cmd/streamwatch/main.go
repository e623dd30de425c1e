// Streamwatch is the engine as a program, for those who write no Go: the whole service
// with monitors, filter rules, webhooks, WebSocket, credits and keys behind HTTP, as
// package enginehttp describes it.
//
//	streamwatch help
//
// lists the commands, and streamwatch serve -h the flags of serve.
//
//	streamwatch watch -since mastodon:Gargron@mastodon.social bluesky:bsky.app
//
// prints the posts of accounts as they are found, and needs neither key nor file.
//
//	streamwatch serve -demo
//
// needs no setup: a fake platform posts, everything is kept in a file that is
// removed at the end, and a key with credits is printed, so that every endpoint
// can be tried with curl at once.
//
//	streamwatch serve -platform https://mastodon.social -db streams.db
//	streamwatch serve -platform bluesky -redis redis://127.0.0.1:6379
//	streamwatch serve -platform bluesky -redis "redis://10.0.0.1:26379?master_name=mymaster&addr=10.0.0.2:26379"
//	streamwatch serve -platform bluesky -pds https://pds.example.com
//
// watch real accounts, the third one on a Redis that two Sentinels watch, and several
// platforms at once as
//
//	export MASTODON_TOKEN=… OTHER_KEY=…
//	streamwatch serve -source bsky=bluesky,probe,stream,calls=5 \
//		-source masto=mastodon,https://mastodon.social,token=MASTODON_TOKEN,stream \
//		-source other=remote,https://streams.example.com,token=OTHER_KEY,stream
//
// where accounts are named bsky:alice.example.com, masto:Gargron and so on; a name without
// a source is of the first one. Keys and credits are issued by commands on the same store:
//
//	streamwatch key -db streams.db -owner acme -name production -credits 100000
//	streamwatch key -db streams.db -owner acme -name operations -scope admin
//	streamwatch credits -db streams.db -owner acme -credits 5000
//	streamwatch keys -db streams.db -owner acme
//	streamwatch revoke -db streams.db -owner acme -id key_…
//	streamwatch erase -db streams.db -platform bluesky -owner acme
//	STREAMWATCH_SEAL_KEY="NEW OLD" streamwatch reseal -db streams.db
//	streamwatch backup -db streams.db -to streams-monday.db
//
// With -fleet, servers that were started on the same -redis, or -db, share the work; the
// folder deploy of the module has them for Compose and Kubernetes:
//
//	streamwatch serve -platform bluesky -redis redis://127.0.0.1:6379 -fleet
//	streamwatch serve -platform bluesky -redis redis://127.0.0.1:6379 -fleet -addr 127.0.0.1:8081
//
// With a key of the scope admin an owner lists, makes and revokes further keys over HTTP, at
// /v1/account/keys; the first one is issued by the command key.
//
// Every flag of these commands can also come from the environment: STREAMWATCH_ADDR for
// -addr and so on; the command line has precedence. Secrets come from the environment alone:
// STREAMWATCH_SEAL_KEY (openssl rand -base64 32) encrypts webhook secrets at rest; of
// several keys, with spaces between them, the first encrypts and all decrypt (streamwatch
// reseal -h). STREAMWATCH_CURSOR_KEY lets processes that are no fleet understand each other's
// cursors. STREAMWATCH_TOKEN is the access token of -platform; a -source names the variable
// of its own. A configuration file, -config, comes last; streamwatch check tells what all of
// them come to, where each value is from, and which variables are not set.
//
// The exit status is 0 when all went well, 78 (EX_CONFIG of sysexits.h) when the command
// line or what it names is not allowed, and 1 for every other failure. A crash is 2, as of
// every Go program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, also where the system has none
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, process{env: os.LookupEnv, out: os.Stdout, logs: os.Stderr}, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "streamwatch:", err)
	}
	os.Exit(status(err))
}

// exitConfig is the exit status of a usageError. It is not 2, the status of a Go program
// that panics: a supervisor is to start that one again, and this one not.
const exitConfig = 78

// status returns the exit status for an error of run.
func status(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		return exitConfig
	}
	return 1
}
